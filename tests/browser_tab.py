"""A tab of a browser that a driver moves: what Firefox and WebKit have in common.

Chromium is driven by Playwright (site_browser.py), which does not support the Firefox and the
WebKit that Debian ships.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Point = tuple[float, float]

_KEYS = {
    "Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008",
    "Control": "\ue009", "Escape": "\ue00c", "Space": " ", "PageDown": "\ue00f",
    "End": "\ue010", "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
    "ArrowRight": "\ue014", "ArrowDown": "\ue015",
}  # fmt: skip


class BrowserError(Exception):
    """The browser or its driver does not do what it was asked to."""


class BrowserTab:
    """A running browser with one tab, of a size in CSS pixels.

    A subclass says how a browser is started (``begin``) and ended (``end``), and how it takes
    scripts, addresses, sizes, pictures and input. The browser is ended by ``close``, and at the
    latest when Python ends.
    """

    name: ClassVar[str]
    #: Programs of which one must be installed, for each that the browser needs.
    programs: ClassVar[tuple[tuple[str, ...], ...]]

    def __init__(self, **options: Any) -> None:
        self._options = options
        try:
            self._start()
        except (BrowserError, OSError):  # a machine under load now and then needs a second try
            self._start()

    def _start(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory(
            prefix=f"{self.name}-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._folder.name)
        atexit.register(self.close)
        try:
            self.begin(**self._options)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.end()
        for process in reversed(self._processes):
            # A browser is many processes; none outlives its driver.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._processes = []
        self._folder.cleanup()
        atexit.unregister(self.close)

    def launch(
        self,
        command: Sequence[str],
        *,
        log: Path | None = None,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a program that ends with the tab, as head of a group of processes."""
        # Where Python itself is killed, its browsers are killed with it.
        bound = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with Path(log or os.devnull).open("wb") as stream:
            process = subprocess.Popen(
                [*bound, *command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=env,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    # --- what each browser does in its own way ------------------------------------------------

    def begin(self, **options: Any) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def go(self, address: str) -> None:
        """Load a page, and return after its ``load`` event."""
        raise NotImplementedError

    def enter_frame(self) -> None:
        """Move to the page's first frame, until the next page is loaded."""
        raise NotImplementedError

    def size(self, width: int, height: int) -> None:
        raise NotImplementedError

    def js(self, function: str, *args: Any) -> Any:
        """Return what a JavaScript function gives for these arguments, as JSON can hold it."""
        raise NotImplementedError

    def act(self, source: dict[str, Any]) -> None:
        """Perform the actions of one input source, in WebDriver's form."""
        raise NotImplementedError

    def png(self) -> bytes:
        """Return a picture of what is in view."""
        raise NotImplementedError

    def nameless(self, within: str, selector: str) -> list[str]:
        """Return the markup of visible elements that assistive technology has no name for.

        Looked at are those that match ``selector`` inside of those that match ``within``.
        """
        raise NotImplementedError

    # --- what follows from it -----------------------------------------------------------------

    def alive(self) -> bool:
        try:
            return bool(self.js("() => 1") == 1)
        except (BrowserError, OSError):
            return False

    def pointer(self, *steps: Point | str | int, kind: str = "mouse") -> None:
        """Move a pointer. A step is a place (x, y), "down", "up", or a pause in milliseconds."""
        actions: list[dict[str, Any]] = []
        for step in steps:
            if isinstance(step, str):
                actions.append({"type": f"pointer{step.title()}", "button": 0})
            elif isinstance(step, int):
                actions.append({"type": "pause", "duration": step})
            else:
                x, y = map(round, step)
                actions.append({"type": "pointerMove", "duration": 0, "x": x, "y": y})
        parameters = {"pointerType": kind}
        self.act({"type": "pointer", "id": kind, "parameters": parameters, "actions": actions})

    def click(self, place: Point, kind: str = "mouse") -> None:
        self.pointer(place, "down", "up", kind=kind)

    def drag(self, start: Point, by: Point, kind: str = "mouse", steps: int = 4) -> None:
        (x, y), (dx, dy) = start, by
        path: list[Point | str | int] = []
        for i in range(1, steps + 1):
            path += [(x + dx * i / steps, y + dy * i / steps), 16]
        self.pointer(start, "down", *path, "up", kind=kind)

    def press(self, *keys: str) -> None:
        """Press keys one after the other; "Shift+ArrowUp" holds Shift."""
        actions = []
        for key in keys:
            *held, last = key.split("+") if len(key) > 1 else [key]
            down = [{"type": "keyDown", "value": _KEYS[name]} for name in held]
            value = _KEYS.get(last, last)
            stroke = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
            actions += [*down, *stroke, *({**a, "type": "keyUp"} for a in reversed(down))]
        self.act({"type": "key", "id": "keys", "actions": actions})

    def wait(self, function: str, *args: Any, seconds: float = 30) -> Any:
        """Return what the function gives, as soon as that counts as true."""
        end = time.monotonic() + seconds
        while not (found := self.js(function, *args)):
            if time.monotonic() > end:
                raise BrowserError(f"not so after {seconds} s: {function}, {args}")
            time.sleep(0.03)
        return found

    def place(self, selector: str, number: int = 0) -> Point:
        """Scroll an element to the middle of the window, and return its centre."""
        x, y = self.js(_PLACE, selector, number)
        return x, y


_PLACE = """(selector, number) => {
  const element = document.querySelectorAll(selector)[number];
  element.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}"""
