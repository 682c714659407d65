#!/usr/bin/env python3
"""The pages of `penstock report --html` and `graphdiff --html` in a real browser: every view draws and reacts without an
error, a hostile document shows and never runs, 5,000 calls and 100 graphs stay usable.

    check_browser.py BUILD-ROOT PYTHON [--screenshots FOLDER]      PYTHON has torch, and playwright

Ends with status 77, a skipped test, where there is no chromium, or PYTHON has no playwright: `scripts/setup --browser`
installs both. The last line is `N passed, N failed`.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import page_documents
from suite import Suite

FIRST_PAINT_MS, FRAME_MS = 2000, 100  # of 5,000 calls and 100 graphs
VIEWS = ["overview", "timeline", "frames", "breaks", "recompiles", "graphs", "code", "guards", "passes", "memory", "roofline", "compare"]


class Page:
    """A page from disk, with what it said."""

    def __init__(self, browser, file: pathlib.Path, view: str = "", theme: str = "light"):
        self.tab = browser.new_context(color_scheme=theme, viewport={"width": 1360, "height": 860}).new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text) if message.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(f"file://{file}#{view}")

    def show(self, view: str) -> str:
        self.tab.evaluate(f"location.hash = '#{view}'")
        self.tab.wait_for_timeout(120)
        return self.tab.inner_text("main")


def check_views(suite: Suite, browser, file: pathlib.Path) -> None:
    page = Page(browser, file)
    words = {"overview": "What to do first", "timeline": "Per graph", "frames": "Net.forward", "breaks": "PS0301", "recompiles": "expected",
             "graphs": "kernels", "code": "layer_norm", "guards": "guards", "passes": "lower-ops", "memory": "arena", "roofline": "flops/byte",
             "compare": "earlier run"}
    for view in VIEWS:
        text = page.show(view)
        suite.check(f"view {view}", words[view] in text and "could not be drawn" not in text, text[:300])
    suite.check("nothing is said to the console", not page.said, page.said[:5])
    suite.check("nothing is asked of anybody", all(url.startswith("file://") for url in page.asked) and len(page.asked) == 1, page.asked)


def check_reactions(suite: Suite, browser, file: pathlib.Path) -> None:
    page = Page(browser, file, "breaks")
    tab = page.tab
    suite.check("a caret under the break", "^^^" in tab.inner_text("main"))
    tab.keyboard.press("6")
    tab.wait_for_timeout(150)
    suite.check("a digit chooses a view", tab.url.endswith("#graphs"))
    tab.keyboard.press("j")
    suite.check("j goes on", tab.url.endswith("#code"))
    tab.keyboard.press("k")
    tab.wait_for_timeout(150)
    tab.fill("input[type=search]", "gelu")
    tab.wait_for_timeout(100)
    suite.check("a search finds and shows", "1 of" in tab.inner_text("main") and "loops" in tab.inner_text(".side"), tab.inner_text(".side"))
    canvas = tab.locator("canvas").bounding_box()
    before = tab.screenshot(clip=canvas)
    tab.mouse.move(canvas["x"] + 200, canvas["y"] + 200)
    tab.mouse.wheel(0, -400)
    tab.wait_for_timeout(100)
    suite.check("the wheel zooms", tab.screenshot(clip=canvas) != before)
    page.show("code")
    tab.locator(".columns > div").nth(1).locator(".ln.link").first.click()
    lit = tab.eval_on_selector_all(".columns > div", "columns => columns.map(column => column.querySelectorAll('.on').length)")
    suite.check("a call lights its source and its loops", all(count > 0 for count in lit[:3]), lit)
    page.show("passes")
    tab.locator(".pass:not(.same)").first.click()
    suite.check("a pass shows its difference", tab.locator("pre .plus").count() > 0)
    page.show("guards")
    tab.locator(".leaf").first.click()
    suite.check("a guard shows its line", ".py:" in tab.inner_text(".side"), tab.inner_text(".side"))
    theme = tab.evaluate("document.documentElement.dataset.theme")
    tab.locator("h1").click()
    tab.keyboard.press("t")
    suite.check("t changes the theme", tab.evaluate("document.documentElement.dataset.theme") != theme)
    tab.emulate_media(media="print")
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    suite.check("all views are printed", tab.locator("section.view").count() == len(VIEWS))
    suite.check("no reaction says anything to the console", not page.said, page.said[:5])
    dark = Page(browser, file, theme="dark")
    suite.check("the system's dark theme is taken", dark.tab.evaluate("document.documentElement.dataset.theme") == "dark")


def check_hostile(suite: Suite, browser, file: pathlib.Path) -> None:
    page = Page(browser, file)
    shown = "".join(page.show(view) for view in VIEWS)
    for name in page_documents.HOSTILE[:3]:
        suite.check(f"{name!r} is shown as it is", name in shown)
    suite.check("nothing of it ran", not page.said and page.tab.evaluate("document.title !== 'ran' && !document.querySelector('img')"), page.said)
    page.tab.evaluate("const s = document.createElement('script'); s.textContent = \"document.title = 'ran'\"; document.body.append(s)")
    suite.check("the content policy forbids other scripts", page.tab.title() != "ran" and any("Content Security" in text for text in page.said), page.said)


def check_large(suite: Suite, browser, file: pathlib.Path) -> None:
    page = Page(browser, file, "graphs=0%2F0")
    page.tab.wait_for_selector("canvas")
    paint = page.tab.evaluate("""new Promise(done => requestAnimationFrame(() => setTimeout(() => {
        const paints = performance.getEntriesByType('paint'); done(Math.max(performance.now() * 0, ...paints.map(paint => paint.startTime)))})))""")
    suite.check(f"first paint of 5,000 calls in {FIRST_PAINT_MS} ms", 0 < paint < FIRST_PAINT_MS, paint)
    frame = page.tab.evaluate("""new Promise(done => {
        const canvas = document.querySelector('canvas'), box = canvas.getBoundingClientRect(), times = [];
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key: '0', bubbles: true}));
        for (let at = 0; at < 30; ++at) {
          const begin = performance.now();
          canvas.dispatchEvent(new KeyboardEvent('keydown', {key: at % 2 ? 'ArrowDown' : 'ArrowRight', bubbles: true}));
          times.push(performance.now() - begin);
        }
        done(Math.max(...times)); })""")
    suite.check(f"moving takes at most {FRAME_MS} ms", frame < FRAME_MS, frame)
    slow = {}
    for view in VIEWS:
        slow[view] = page.tab.evaluate(f"""new Promise(done => {{ const begin = performance.now(); location.hash = '#{view}';
            addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin))), {{once: true}});
            if (location.hash === '#{view}') setTimeout(() => done(performance.now() - begin), 4000); }})""")
    suite.check(f"every view in {FIRST_PAINT_MS} ms", max(slow.values()) < FIRST_PAINT_MS, slow)
    suite.check("a large report says nothing to the console", not page.said, page.said[:3])
    print(f"large: first paint {paint:.0f} ms, longest frame while moving {frame:.0f} ms, {file.stat().st_size / 1e6:.1f} MB")


def check_difference(suite: Suite, browser, file: pathlib.Path, hostile: pathlib.Path, large: pathlib.Path) -> None:
    """The page of `graphdiff --html`."""
    page = Page(browser, file)
    tab = page.tab
    suite.check("the overview counts graphs", "changed" in tab.inner_text("main") and "Net.forward" in tab.inner_text("main"), tab.inner_text("main"))
    tab.keyboard.press("j")
    tab.wait_for_timeout(120)
    suite.check("j goes on to a graph", tab.url.endswith("#graph=0") and "relu" in tab.inner_text("main"), tab.inner_text("main")[:300])
    words = tab.eval_on_selector_all("tr.changed mark", "marks => marks.map(mark => mark.textContent)")
    suite.check("the words that differ are marked", "aten.gelu.default" in words and "aten.relu.default" in words, words)
    row = tab.locator("tr.changed").first
    suite.check("a row is closed at first", row.get_attribute("aria-expanded") == "false" and not tab.locator("tr.about").first.is_visible())
    row.click()
    suite.check("a row opens with its lines of Python", "functional.relu" in tab.locator("tr.about").first.inner_text()
                and "^^^" in tab.locator("tr.about").first.inner_text(), tab.locator("tr.about").first.inner_text())
    folds, rows = tab.locator("tr.fold").count(), tab.locator("table.diff tr").count()
    tab.locator("tr.fold button").first.click()
    suite.check("what is the same unfolds", folds > 0 and tab.locator("tr.fold").count() == folds - 1 and tab.locator("table.diff tr").count() > rows)
    suite.check("nothing is said to the console", not page.said, page.said[:5])
    suite.check("nothing is asked of anybody", len(page.asked) == 1, page.asked)
    bad = Page(browser, hostile)
    shown = bad.tab.inner_text("nav") + "".join(bad.show(f"graph={at}") for at in range(4))
    suite.check("a hostile name is shown as it is", any(name in shown for name in page_documents.HOSTILE[:3]), shown[:300])
    suite.check("nothing of it ran", not bad.said and bad.tab.evaluate("document.title !== 'ran' && !document.querySelector('img')"), bad.said)
    big = Page(browser, large, "graph=0")
    big.tab.wait_for_selector("table.diff")
    took = big.tab.evaluate("""new Promise(done => { const begin = performance.now();
        document.querySelectorAll('tr.fold button').forEach(button => button.click());
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin))); })""")
    suite.check(f"5,000 ops unfold in {FIRST_PAINT_MS} ms", took < FIRST_PAINT_MS and big.tab.locator("tr.same").count() > 4900, took)


WATCHED = """
import sys, torch
def f(x): return torch.relu(x * 2).sum()
def g(x): return (x - 1).abs().sum()
x = torch.ones(8)
f(x)
print("ready", flush=True)
for line in sys.stdin: (f if line == "f\\n" else g)(x)
"""


def comes_true(tab, condition: str) -> bool:
    """Asked by the debugger: the page's policy lets nothing of its own be evaluated. The page may be loaded anew meanwhile."""
    for _ in range(100):
        try:
            if tab.evaluate(condition):
                return True
        except Exception:  # the page that was asked is gone
            pass
        tab.wait_for_timeout(100)
    return False


def check_live(suite: Suite, browser) -> None:
    """The page that `run --watch` serves: it follows the program, and stays when that has ended."""
    (suite.work / "watched.py").write_text(WATCHED)
    started = subprocess.Popen([suite.world["PATH"].split(":")[0] + "/penstock", "run", "--watch", "watched.py"], cwd=suite.work, env=suite.world,
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    address = re.search(r"http://\S+/", started.stderr.readline())[0]
    started.stdout.readline()
    tab = browser.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    tab.goto(address + "#graphs")
    suite.check("the page says that it is live", tab.inner_text(".live") == "live" and "f" in tab.inner_text("main"), tab.inner_text("body")[:400])
    tab.wait_for_timeout(1200)  # it has asked what there is
    started.stdin.write("g\n")
    started.stdin.flush()
    followed = comes_true(tab, "JSON.parse(document.getElementById('penstock-report').textContent).graphs.some(each => each.name === 'g')")
    suite.check("it follows the program, in the view that was chosen", followed and tab.url.endswith("#graphs"), tab.url)
    suite.check("and says nothing to the console", not said, said)
    started.stdin.close()
    ended = comes_true(tab, "document.querySelector('.live')?.textContent === 'ended'")
    suite.check("the end is told, and the page stays", ended and "[0/0]" in tab.inner_text("main"), tab.inner_text("main")[:300])
    started.wait(timeout=20)


def take_screenshots(browser, file: pathlib.Path, folder: pathlib.Path) -> None:
    for theme in ("light", "dark"):
        page = Page(browser, file, theme=theme)
        for view in VIEWS:
            page.show(view)
            page.tab.screenshot(path=folder / f"report-{view}-{theme}.png")


def run(options: argparse.Namespace, browser, work: str) -> int:
    suite = Suite(options.build.absolute(), options.python.absolute(), pathlib.Path(work))
    (suite.work / "program.py").write_text(page_documents.PROGRAM)
    suite.command("penstock", "run", "-o", "run.json", "program.py")
    (suite.work / "hostile.json").write_text(page_documents.hostile((suite.work / "run.json").read_text()))
    for name in ("run", "hostile"):
        suite.command("penstock", "report", "--assembly", "--html", f"{name}.html", f"{name}.json")
    page = (suite.work / "run.html").read_text()
    report = re.search(r'id="penstock-report">(.*?)</script>', page, re.DOTALL)[1]
    large = page_documents.large(report, graphs=100, nodes=5000).replace("<", "\\u003c")
    (suite.work / "large.html").write_text(page.replace(report, large))
    check_views(suite, browser, suite.work / "run.html")
    check_reactions(suite, browser, suite.work / "run.html")
    check_hostile(suite, browser, suite.work / "hostile.html")
    check_large(suite, browser, suite.work / "large.html")
    (suite.work / "edited.py").write_text(page_documents.PROGRAM.replace("functional.gelu", "functional.relu"))
    (suite.work / "chain.py").write_text(page_documents.chain(5000))
    for name in ("program", "edited", "chain"):
        suite.command("penstock", "capture", "--no-tensors", "-o", f"{name}.json", f"{name}.py")
    (suite.work / "changed.json").write_text((suite.work / "chain.json").read_text().replace('"aten.sub.Tensor"', '"aten.mul.Tensor"', 1))
    for before, after in (("program", "edited"), ("program", "hostile"), ("chain", "changed")):
        suite.command("penstock", "graphdiff", f"--html={after}-difference.html", f"{before}.json", f"{after}.json", status=1)
    check_difference(suite, browser, *(suite.work / f"{name}-difference.html" for name in ("edited", "hostile", "changed")))
    check_live(suite, browser)
    if options.screenshots:
        take_screenshots(browser, suite.work / "run.html", options.screenshots)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed != 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("python", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("skipped: no chromium")
        return 77
    if importlib.util.find_spec("playwright") is None:
        # playwright is in the Python that the program runs in, if anywhere.
        if pathlib.Path(sys.executable).absolute() == options.python.absolute():
            print(f"skipped: {options.python} has no playwright")
            return 77
        os.execv(options.python, [str(options.python), *sys.argv])
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as work:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        return run(options, browser, work)


if __name__ == "__main__":
    sys.exit(main())
