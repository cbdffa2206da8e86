"""A page in a real browser without a screen.

A script at the end of a copy of the page does what a person would do and writes down what it sees. The page's own policy stays in force:
it is told of this one script.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which is not installed; or name it in the variable CHROMIUM")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="[^"]*">')
# stands before the policy, and so is not under it; what is seen is written down when everything has been loaded, or has failed to
BEFORE = """<script>
window.problems = []; window.violations = []; window.called = []; window.note = {};
window.ran = (where) => called.push(where);
window.addEventListener("error", (event) => problems.push(String(event.message)));
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
for (const kind of ["error", "warn"]) console[kind] = (...words) => problems.push(words.join(" "));
window.addEventListener("load", () => setTimeout(() => {
  Object.assign(note, { problems, violations, called, ready: document.documentElement.dataset.ready });
  const block = document.createElement("div");
  block.id = "note"; block.textContent = JSON.stringify(note);
  document.body.append(block);
}, 500));
</script>"""


def visit(source, script, folder, *, width=1200, policy=True):
    """What a script sees on a page.

    Args:
        source:  the page
        script:  JavaScript that fills ``note``
        folder:  for the copy of the page and the profile of the browser
        width:   of the window
        policy:  keep the policy of the page; else it is taken out
    """
    after = f"try {{ {script} }} catch (error) {{ problems.push(String(error)); }}"
    allowed = f"'sha256-{base64.b64encode(hashlib.sha256(after.encode()).digest()).decode()}'"
    source = source.replace("script-src ", f"script-src {allowed} ", 1) if policy else POLICY.sub("", source, count=1)
    source = source.replace("<head>", "<head>" + BEFORE, 1).replace("</body>", f"<script>{after}</script></body>")
    copy = folder / "page.html"
    copy.write_text(source, encoding="utf-8")
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--virtual-time-budget=4000"]
    run = subprocess.run([*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=900, check=False)
    found = re.search(r'<div id="note">(.*?)</div>', run.stdout, re.DOTALL)
    assert found, run.stderr[-2000:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u00a0").replace("&amp;", "&"))
