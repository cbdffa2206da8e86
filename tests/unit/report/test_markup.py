"""Text never becomes markup, and markup cannot be made by anything else."""

import ast
import base64
import json
import re
import struct
import zlib
from pathlib import Path

import pytest

from ctpwa.base.markup import NOTHING, element, picture, together
from ctpwa.report import html
from ctpwa.report.html.marks import number, table, tabs, text
from ctpwa.report.html.policy import data_block, security_policy

FOLDER = Path(html.__file__).parent
HOSTILE = '<img src=x onerror="a">\'&amp;</script>'
ESCAPED = "&lt;img src=x onerror=&quot;a&quot;&gt;&#x27;&amp;amp;&lt;/script&gt;"


def test_text_is_escaped_wherever_it_is_put():
    assert element("p", HOSTILE).source == f"<p>{ESCAPED}</p>"
    assert element("p", [("a", HOSTILE), None], element("b", HOSTILE)).source == f"<p>a{ESCAPED}<b>{ESCAPED}</b></p>"
    assert element("p", title=HOSTILE, data_name=HOSTILE).source == f'<p title="{ESCAPED}" data-name="{ESCAPED}"></p>'
    assert together(HOSTILE, element("br")).source == f"{ESCAPED}<br>"


def test_tables_and_tabs():
    shown = table("t", (HOSTILE,), [(text(HOSTILE),), (number(HOSTILE, 1.0),)], names=[HOSTILE, HOSTILE]).source
    assert set(re.findall(r"<(\w+)", shown)) == {"div", "table", "thead", "tr", "th", "tbody", "td"}
    assert shown.count(ESCAPED) == 8
    assert "<img" not in tabs("g", [("a", HOSTILE), (HOSTILE, "b")]).source


def test_attributes():
    assert (
        element("input", checked=True, hidden=False, id=None, data_v=1.5, class_="a b").source == '<input checked data-v="1.5" class="a b">'
    )
    assert not NOTHING


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\x9b", "\ud800", "\ufffe"])
def test_letters_that_no_page_may_have(letter):
    source = element("p", f"a{letter}b", title=letter).source
    assert source == '<p title="\ufffd">a\ufffdb</p>'
    source.encode()


@pytest.mark.parametrize("tag", ["script", "style", "iframe", "base", "p onload=a", "P><b", ""])
def test_elements_that_could_run_something(tag):
    with pytest.raises(ValueError, match="no element"):
        element(tag)


@pytest.mark.parametrize("name", ["onclick", "ONLOAD", "style", "src", "srcdoc", "a b", "a=b", "xlink:href"])
def test_attributes_that_could_run_something(name):
    with pytest.raises(ValueError, match="no attribute"):
        element("p", **{name: "x"})


@pytest.mark.parametrize("address", ["javascript:a", "https://a.b", "//a.b", "data:text/html,a", "# a", "#a:b"])
def test_links_stay_on_the_page(address):
    with pytest.raises(ValueError, match="no attribute href"):
        element("a", href=address)
    assert element("a", href="#part-1").source == '<a href="#part-1"></a>'


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


HEAD, PIXELS = chunk(b"IHDR", struct.pack(">IIBBBBB", 6, 4, 8, 0, 0, 0, 0)), chunk(b"IDAT", zlib.compress(bytes(7 * 4)))
PNG = b"\x89PNG\r\n\x1a\n" + HEAD + PIXELS + chunk(b"IEND", b"")


def test_a_picture_is_in_the_page():
    source = picture(PNG, HOSTILE, 0.5).source
    assert source == f'<img src="data:image/png;base64,{base64.b64encode(PNG).decode()}" alt="{ESCAPED}" width="3" height="2">'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg onload=a></svg>",
        b"GIF89a",
        PNG[:8],
        PNG[:-1],
        PNG + b"<script>",
        PNG.replace(b"IHDR", b"IHDS"),
        PNG[:8] + PIXELS + HEAD + chunk(b"IEND", b""),
        PNG[:8] + struct.pack(">I", 2**32 - 1) + PNG[12:],
    ],
)
def test_a_picture_is_a_png_and_nothing_else(content):
    with pytest.raises(ValueError, match="PNG"):
        picture(content, "")


def test_pieces_cannot_be_formatted_into_texts():
    piece = element("b")
    for use in (str, "{}".format, lambda value: f"{value}", lambda value: "a" + value, lambda value: "".join([value])):
        with pytest.raises(TypeError):
            use(piece)


def test_data_has_no_letter_of_html():
    data = {"<!--<script>": ["</script>", "&lt;", "\u2028\ud800]]>"], "x": element("b")}
    source = data_block("d", data, default=lambda piece: piece.source).source
    inside = re.fullmatch(r'<script type="application/json" id="d">(.*)</script>', source)[1]
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == data | {"x": "<b></b>"}
    source.encode()


def test_the_policy_names_what_is_in_the_page():
    rules = dict(rule.split(" ", 1) for rule in re.search('content="(.*)"', security_policy("a{}", "b()").source)[1].split("; "))
    assert rules["default-src"] == "'none'"
    # printf 'b()' | openssl dgst -sha256 -binary | base64
    assert rules["script-src"] == "'sha256-cf242PFc/kb7xD0Qzhsmd9vvRkc+cWFmbi+k+YvtdKc='"
    assert rules["style-src"] == "'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"
    assert not re.search("unsafe|\\*|http|self", " ".join(rules.values()))


def strings(file):
    return [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_only_one_module_writes_markup(file):
    """Else a text could be put between tags without being escaped."""
    tags = [node.lineno for node in strings(file) if re.search(r"</?[a-zA-Z]", node.value)]
    made = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    made = [node.lineno for node in made if getattr(node.func, "id", "") == "Html"]
    if file.name == "policy.py":
        assert tags
        assert made
    else:
        assert not tags + made


def test_the_script_makes_no_markup_of_text():
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|eval\(|Function\(", script
    )
    assert not re.search(r'\bstyle: ["`]|setAttribute\("(style|on)', script)  # the policy forbids them
