"""A headless Chromium for the tests of pages, driven through a pipe in its DevTools protocol."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
_SECONDS = 60


class Browser:
    """One tab. What it asks the network for and what it complains of is kept in :attr:`events`."""

    def __init__(self, process: "subprocess.Popen[bytes]", to: int, answers: int) -> None:
        self.events: list[dict[str, Any]] = []
        """Since the last :meth:`open`."""
        self._process, self._to, self._answers = process, to, answers
        self._numbers, self._rest, self._session = itertools.count(1), b"", ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; what happens until then is added to the events."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        session = {"sessionId": self._session} if self._session else {}
        os.write(self._to, json.dumps({**message, **session}).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                result: dict[str, Any] = got["result"]
                return result
            self.events.append(got)

    def open(self, page: Path, width: int, *, dark: bool = False, media: str = "screen") -> None:
        """Show a page at a width in CSS pixels and wait until it is laid out."""
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def value(self, script: str) -> Any:
        """What a JavaScript expression is worth in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings in the console since the page was opened."""
        names = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in names]

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._rest:
            if not select.select([self._answers], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser says nothing for {_SECONDS} s")
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise RuntimeError(f"the browser ended with code {self._process.wait(_SECONDS)}")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        got: dict[str, Any] = json.loads(message)
        return got


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that keeps its files in a folder and ends with the block."""
    assert PROGRAM is not None
    low = [*os.pipe(), *os.pipe()]
    # the browser reads commands from 3 and answers on 4; the pipes' own numbers must be others
    commands, to, answers, back = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    command = ["bash", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{back}', PROGRAM]
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
    flags += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    command += [*flags, "--hide-scrollbars", f"--user-data-dir={folder}", "about:blank"]
    with (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command, pass_fds=(commands, back), stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr
        )
    os.close(commands)
    os.close(back)
    try:
        tab = Browser(process, to, answers)
        yield tab
        tab.call("Browser.close")
    finally:
        os.close(to)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
