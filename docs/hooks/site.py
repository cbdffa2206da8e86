"""What is done to pages while the site is built: formulas become MathML, so that a browser needs no script and no network for them."""

import html
import logging
import re

from latex2mathml.converter import convert

log = logging.getLogger("mkdocs.hooks.site")
BAR = '<mo lspace="0" rspace="0" stretchy="false">|</mo>'  # moduli have no space around them
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_markdown(markdown, **_):
    """Examples of mistakes, which tests know by the word ``wrong``, are highlighted like others."""
    return markdown.replace("```yaml wrong\n", "```yaml\n")


def on_page_content(content, page, **_):
    """Replaces the LaTeX that arithmatex has found by MathML."""

    def formula(found):
        tag, bracket, text = found.groups()
        return f'<{tag} class="formula">{mathml(html.unescape(text), bracket == "[", page.file.src_uri)}</{tag}>'

    return FORMULA.sub(formula, content)


def mathml(latex, block, where):
    """The MathML of a formula; what the converter does not know is a warning, which ends a strict build."""
    try:
        text = convert(latex.strip(), display="block" if block else "inline")
    except Exception as error:
        log.warning("%s: no MathML of %r: %s", where, latex, error)
        return html.escape(latex)
    if "\\" in text:
        log.warning("%s: %r has a command that MathML does not get", where, latex)
    text = text.replace('<mo stretchy="false">&#x0007C;</mo>', BAR)
    return re.sub(r"(&#x00028;</mo>)<mo>&#x02212;</mo>", r'\1<mo form="prefix">&#x02212;</mo>', text)  # a sign, not a difference
