"""Looks at pages in headless Chromium, as a person's browser would lay them out."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

_HARNESS = """<!doctype html><title>harness</title><body><pre id="out"></pre><script>
async function look(url, width) {
  const frame = document.createElement("iframe");
  Object.assign(frame, {width, height: 900, src: url});
  frame.style.border = "0";
  const loaded = new Promise(resolve => frame.onload = resolve);
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument, view = frame.contentWindow;
  const charts = [...page.querySelectorAll("figure")].map(figure => {
    const chart = figure.querySelector(".chart"), svg = chart.querySelector("svg");
    const room = chart.getBoundingClientRect(), wide = chart.scrollWidth > chart.clientWidth + 1;
    const boxes = kind => [...svg.querySelectorAll(kind)].map(e => [e, e.getBoundingClientRect()]);
    const shown = boxes("text").filter(([e, box]) => box.width > 0 && e.textContent.trim());
    const outside = ([e, b]) => b.left < room.left - 1 || b.right > room.right + 1 || b.top < room.top - 1;
    return {
      name: figure.id,
      marks: boxes(".role-mark path, .role-mark line, .role-mark rect, .role-mark text")
        .filter(([e, box]) => box.width + box.height > 0).length,
      cut: wide ? [] : shown.filter(outside).map(([e, b]) => e.textContent),
      letters: Math.min(...shown.map(([e, b]) =>
        parseFloat(view.getComputedStyle(e).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width)),
      rows: figure.querySelectorAll("tbody tr").length,
    };
  });
  const colours = view.getComputedStyle(page.body);
  const found = {
    url, width, charts, overflow: page.documentElement.scrollWidth - view.innerWidth,
    paper: colours.backgroundColor, ink: colours.color,
    loaded: view.performance.getEntriesByType("resource").map(entry => entry.name),
    headings: [...page.querySelectorAll("h1,h2,h3,h4")].map(h => Number(h.tagName[1])),
  };
  frame.remove();
  return found;
}
(async () => {
  const found = [];
  for (const [url, width] of JOBS) found.push(await look(url, width));
  document.getElementById("out").textContent = JSON.stringify(found);
})();
</script>"""


@dataclass(frozen=True, slots=True)
class Look:
    """A page as it was laid out."""

    page: str
    width: int
    charts: Sequence[dict[str, Any]]
    """By figure: ``name``, ``marks`` drawn, ``cut`` (texts that stick out), ``letters`` (smallest, px), ``rows``."""
    overflow: int
    """Pixels by which the page is wider than its window."""
    paper: str
    ink: str
    loaded: list[str]
    """Addresses of all that it loaded."""
    headings: list[int]
    """Levels of its headings, in order."""


def chromium() -> str:
    """The browser; without one the test is skipped, but not in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium here: .ci/run installs it")
        pytest.skip("there is no chromium here (Debian: apt-get install chromium)")
    return found


def look(pages: Sequence[Path], widths: Sequence[int], folder: Path, dark: bool = False) -> list[Look]:
    """Every page at every width, in one start of the browser. Messages on a page's console fail the test."""
    jobs = [[page.as_uri(), width] for page in pages for width in widths]
    harness = folder / "harness.html"
    harness.write_text(_HARNESS.replace("JOBS", json.dumps(jobs)))
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = _run(
        folder,
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        "--virtual-time-budget=60000",
        *scheme,
        "--dump-dom",
        harness.as_uri(),
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console, console
    out = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)
    assert out is not None, done.stdout[-2000:] + done.stderr[-2000:]
    assert out[1], done.stderr[-2000:]
    return [
        Look(Path(found["url"]).name, *(found[key] for key in Look.__slots__[1:]))
        for found in json.loads(unescape(out[1]))
    ]


def print_pdf(page: Path, folder: Path) -> bytes:
    """The page on paper."""
    path = folder / "page.pdf"
    _run(folder, f"--print-to-pdf={path}", "--no-pdf-header-footer", page.as_uri())
    return path.read_bytes()


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            f"--user-data-dir={folder / 'profile'}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
