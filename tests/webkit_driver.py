"""WebKitGTK's MiniBrowser, driven by WebDriver, on a screen (Xvfb) of its own.

It is the engine of Safari, but not Safari: fonts, form controls and touch differ.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from browser_tab import BrowserError, BrowserTab

# MiniBrowser's tool bar is 447 px wide, and without this no page would be narrower.
_CSS = """\
* { min-width: 0; min-height: 0; padding: 0; margin: 0; border-width: 0; }
image { -gtk-icon-transform: scale(0.1); }
"""
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # by this key WebDriver's JSON names an element


def mini_browser() -> Path | None:
    """The browser that comes with libwebkit2gtk; it is on nobody's PATH."""
    return next(Path("/usr").glob("lib*/**/webkit2gtk-4.*/MiniBrowser"), None)


class WebKit(BrowserTab):
    name = "webkit"
    programs = (("WebKitWebDriver",), ("Xvfb",))

    def begin(
        self,
        *,
        dark: bool = False,
        reduced_motion: bool = True,
        font_size: int = 16,
        storage: bool = True,
        mathml: bool = True,
    ) -> None:
        self._session = ""
        self._font_size = font_size
        gtk = self.folder / "gtk-3.0"
        gtk.mkdir()
        (gtk / "gtk.css").write_text(_CSS, encoding="utf-8")
        settings = f"[Settings]\ngtk-enable-animations={int(not reduced_motion)}\n"
        (gtk / "settings.ini").write_text(settings, encoding="utf-8")
        homes = dict.fromkeys(
            ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), str(self.folder)
        )
        screen = {"DISPLAY": self._screen(), "GDK_BACKEND": "x11"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        command = ["WebKitWebDriver", f"--port={self._port}"]
        process = self.launch(command, env={**os.environ, **homes, **screen})
        end = time.monotonic() + 30
        while True:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self._port), 1),
            ):
                break
            if time.monotonic() > end or process.poll() is not None:
                raise BrowserError("WebKitWebDriver does not start")
            time.sleep(0.03)
        arguments = [
            "--automation",
            *["--dark-mode"] * dark,
            *["--enable-html5-local-storage=false"] * (not storage),
            *["--features=-MathML"] * (not mathml),
        ]
        options = {"binary": str(mini_browser()), "args": arguments}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        # An option that MiniBrowser does not know leaves the driver waiting for ever.
        made = self._send("POST", "/session", {"capabilities": wanted}, seconds=45)
        self._session = f"/session/{made['sessionId']}"

    def _screen(self) -> str:
        read, write = os.pipe()
        with os.fdopen(read) as pipe:
            command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24"]
            self.launch([*command, "-nolisten", "tcp"], pass_fds=[write])
            os.close(write)
            ready, _, _ = select.select([pipe], [], [], 30)
            number = pipe.readline().strip() if ready else ""
        if not number:
            raise BrowserError("Xvfb does not start")
        return f":{number}"

    def _send(self, method: str, path: str, body: Any = None, seconds: float = 60) -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        address = f"http://127.0.0.1:{self._port}{self._session}{path}"
        request = urllib.request.Request(address, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise BrowserError(f"{path}: {value['error']}: {value['message']}") from None
        except OSError as error:
            raise BrowserError(f"{path}: no answer from WebKit: {error}") from error

    def go(self, address: str) -> None:
        self._send("POST", "/url", {"url": address})
        if self._font_size != 16:  # MiniBrowser has no setting for it
            self.js(
                "size => { document.documentElement.style.fontSize = size; }",
                f"{self._font_size / 16:.0%}",
            )

    def enter_frame(self) -> None:
        self._send("POST", "/frame", {"id": 0})

    def size(self, width: int, height: int) -> None:
        """Resize the window until the page has this size: the window's frame is unknown."""
        end = time.monotonic() + 20
        while (got := self.js("() => [innerWidth, innerHeight]")) != [width, height]:
            if time.monotonic() > end:
                raise BrowserError(f"the page stays at {got}, and not {width} by {height}")
            rect = self._send("GET", "/window/rect")
            wanted = {
                "width": rect["width"] + width - got[0],
                "height": rect["height"] + height - got[1],
            }
            self._send("POST", "/window/rect", wanted)
            time.sleep(0.05)

    def js(self, function: str, *args: Any) -> Any:
        script = f"return ({function})(...arguments)"
        return self._send("POST", "/execute/sync", {"script": script, "args": list(args)})

    def act(self, source: dict[str, Any]) -> None:
        self._send("POST", "/actions", {"actions": [source]})

    def png(self) -> bytes:
        return base64.b64decode(self._send("GET", "/screenshot"))

    def nameless(self, within: str, selector: str) -> list[str]:
        visible = """return [...document.querySelectorAll(arguments[0])]
          .flatMap(root => [...root.querySelectorAll(arguments[1])])
          .filter(element => element.checkVisibility())"""
        arguments = {"script": visible, "args": [within, selector]}
        found = []
        for element in self._send("POST", "/execute/sync", arguments):
            if not self._send("GET", f"/element/{element[_ELEMENT]}/computedlabel"):
                found.append(self.js("element => element.outerHTML.slice(0, 160)", element))
        return found

    def end(self) -> None:
        if self._session:
            self._send("DELETE", "", seconds=10)
