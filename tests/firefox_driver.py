"""Firefox, driven by WebDriver BiDi, which it has built in: no other program is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import time
from typing import TYPE_CHECKING, Any

from browser_tab import BrowserError, BrowserTab

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFERENCES: dict[str, Any] = {
    # No first page, no question, no request of its own.
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    # Scroll bars over the page, as on phones; fingers are heard.
    "ui.useOverlayScrollbars": 1,
    "dom.w3c_touch_events.enabled": 1,
}


class Firefox(BrowserTab):
    name = "firefox"
    programs = (("firefox-esr", "firefox"),)

    def begin(
        self,
        *,
        dark: bool = False,
        reduced_motion: bool = True,
        font_size: int = 16,
        forced_colors: bool = False,
        storage: bool = True,
        mathml: bool = True,
    ) -> None:
        import websocket

        preferences = {
            **_PREFERENCES,
            "layout.css.prefers-color-scheme.content-override": 0 if dark else 1,
            "ui.prefersReducedMotion": int(reduced_motion),
            "font.size.variable.x-western": font_size,
            "browser.display.document_color_use": 2 if forced_colors else 0,
            "network.cookie.cookieBehavior": 0 if storage else 2,
            "mathml.disabled": not mathml,
        }
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in preferences.items()]
        (self.folder / "user.js").write_text("".join(lines), encoding="utf-8")
        log = self.folder / "log"
        program = next(filter(None, map(shutil.which, self.programs[0])))
        command = [program, "--headless", "--no-remote", "--profile", str(self.folder)]
        process = self.launch([*command, "--remote-debugging-port=0", "about:blank"], log=log)
        end = time.monotonic() + 60
        while True:
            text = log.read_text(encoding="utf-8", errors="replace")
            if found := re.search(r"BiDi listening on (ws://\S+)", text):
                break
            if time.monotonic() > end or process.poll() is not None:
                raise BrowserError(f"Firefox does not start: {text[-500:]}")
            time.sleep(0.05)
        try:
            self._socket = websocket.create_connection(
                f"{found[1]}/session", timeout=60, suppress_origin=True
            )
        except websocket.WebSocketException as error:
            raise BrowserError(f"Firefox does not answer: {error}") from error
        self._count = 0
        self._send("session.new", capabilities={})
        # The tab that Firefox opens by itself leaves the focus to the address bar, and buttons
        # then do not hear Enter and Space.
        self._tab = self._context = self._send("browsingContext.create", type="tab")["context"]

    def _send(self, method: str, **params: Any) -> Any:
        import websocket

        self._count += 1
        try:
            self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
            while True:
                message = json.loads(self._socket.recv())
                if message.get("id") == self._count:
                    break
        except (websocket.WebSocketException, ValueError) as error:
            raise BrowserError(f"{method}: no answer from Firefox: {error}") from error
        if message["type"] == "error":
            raise BrowserError(f"{method}: {message['error']}: {message['message']}")
        return message["result"]

    def go(self, address: str) -> None:
        self._context = self._tab
        self._send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def enter_frame(self) -> None:
        (tree,) = self._send("browsingContext.getTree", root=self._tab)["contexts"]
        self._context = tree["children"][0]["context"]

    def size(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._send("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def js(self, function: str, *args: Any) -> Any:
        # As JSON there and back, since BiDi's own form of values is wordy.
        call = f"({function})(...{json.dumps(args)})"
        got = self._send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await {call}) ?? 'null')()",
            target={"context": self._context},
            awaitPromise=True,
            userActivation=True,
        )
        if got["type"] == "exception":
            raise BrowserError(got["exceptionDetails"]["text"])
        return json.loads(got["result"]["value"])

    def act(self, source: Mapping[str, Any]) -> None:
        self._send("input.performActions", context=self._context, actions=[source])
        if source.get("parameters") == {"pointerType": "touch"}:
            self._send("input.releaseActions", context=self._context)

    def png(self) -> bytes:
        picture = self._send("browsingContext.captureScreenshot", context=self._context)["data"]
        return base64.b64decode(picture)

    def nameless(self, within: str, selector: str) -> list[str]:
        def locate(kind: str, value: Any, **where: Any) -> list[dict[str, str]]:
            locator = {"type": kind, "value": value}
            nodes = self._send(
                "browsingContext.locateNodes", context=self._context, locator=locator, **where
            )["nodes"]
            return [{"sharedId": node["sharedId"]} for node in nodes]

        if not (roots := locate("css", within)):
            return []
        nodes = locate("accessibility", {"name": ""}, startNodes=roots)
        got = self._send(
            "script.callFunction",
            functionDeclaration="""(elements, selector) => JSON.stringify(elements
              .filter(element => element.matches(selector) && element.checkVisibility())
              .map(element => element.outerHTML.slice(0, 160)))""",
            target={"context": self._context},
            arguments=[{"type": "array", "value": nodes}, {"type": "string", "value": selector}],
            awaitPromise=False,
        )
        names: list[str] = json.loads(got["result"]["value"])
        return names

    def end(self) -> None:
        with contextlib.closing(self._socket):
            self._send("browser.close")
        for process in self._processes:
            with contextlib.suppress(Exception):
                process.wait(10)
