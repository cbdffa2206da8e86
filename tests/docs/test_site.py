"""The site can be built, without warnings; it needs nothing from elsewhere, and has every page and every public name."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from docs.blocks import DOCS, PAGES, ROOT, page_text
from report.browser import BROWSER, FLAGS, needs_browser
from test_public_api import NAMES


class Loader(yaml.SafeLoader):
    """The settings of the site name a function of Python, which is not needed here."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def pages_of(entry):
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in pages_of(part)]


def test_every_page_is_in_the_navigation_once():
    assert sorted(pages_of(SETTINGS["nav"])) == PAGES


def test_images_are_small_and_used():
    used = {name for page in PAGES for name in re.findall(r"images/([\w.-]+)", page_text(page))}
    used |= set(re.findall(r"docs/images/([\w.-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    for image in (DOCS / "images").iterdir():
        assert image.stat().st_size < 400_000, image.name
    assert used <= {image.name for image in (DOCS / "images").iterdir()}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; without colours, which some programs write even into files."""
    pytest.importorskip("mkdocs", reason="pip install ctpwa[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def html(site):
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(html, site):
    assert len(html) > len(PAGES)  # and the page for what is not found
    for name, text in html.items():
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", tag), f"{name}: {tag}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_formulas_are_typeset(html):
    assert "<math" in html["lineshapes.html"]
    for name, text in html.items():
        plain = re.sub(r"<(pre|code|script|math)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert "$" not in plain, f"{name}: {plain[plain.index('$') - 40 :][:120]}"
        assert "arithmatex" not in plain, name
        assert "```" not in text, name


def test_stars_of_particles_are_stars(html):
    """K*(892) twice in a paragraph would be italics in between; K\\*(892) is not."""
    for name, text in html.items():
        found = re.search(r".{20}[\w)]<em>.{20}", re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.DOTALL))
        assert not found, f"{name}: {found[0]}"


def test_the_reference_has_a_place_for_every_name(html):
    reference = "".join(text for name, text in html.items() if name.startswith("api/"))
    for name, home in NAMES.items():
        anchors = [name] + ([f"{home.__module__}.{home.__qualname__}"] if hasattr(home, "__qualname__") else [])  # constants have none
        assert any(f'id="{anchor}"' in reference for anchor in anchors), name


TYPED = """<script>
window.addEventListener("load", () => {
  const field = document.querySelector("input[data-md-component=search-query]"), open = document.getElementById("__search");
  open.checked = true;
  open.dispatchEvent(new Event("change"));
  field.focus();
  setTimeout(() => { field.value = "flatte"; field.dispatchEvent(new KeyboardEvent("keyup", { key: "e", bubbles: true })); }, 1500);
  setTimeout(() => {
    const links = [...document.querySelectorAll(".md-search-result__link")], block = document.createElement("div");
    block.id = "found";
    block.textContent = links.map((link) => link.href.split("/").pop()).join(" ");
    document.body.append(block);
  }, 6000);
});
</script>"""


@needs_browser
@pytest.mark.parametrize("page", ["index.html", "how-to/gpu.html"])
def test_search_works_in_files(site, page, tmp_path):
    """From any folder, without a server and without a network."""
    copy = site / page.replace(".html", "-searched.html")
    copy.write_text((site / page).read_text(encoding="utf-8").replace("</body>", TYPED + "</body>"), encoding="utf-8")
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom", copy.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    copy.unlink()
    found = re.search(r'<div id="found">(.*?)</div>', run.stdout)
    assert found, run.stderr[-2000:]
    assert any(link.startswith("lineshapes.html") for link in found[1].split())
