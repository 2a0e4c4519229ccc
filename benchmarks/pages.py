"""Measure what a page costs its reader: bytes over the wire and requests, in a browser.

    python benchmarks/pages.py _build/html [another/site ...] --pages index.html ...

Each site is served by a server of this script, which compresses what a web server would
compress. The cache is empty for every page. Requests to other hosts are counted and refused,
so the sizes are those of the site's own files.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from site_browser import chromium

PAGES = ["index.html", "chapters/02_simple_attention.html", "chapters/10_translation.html"]
TEXT = {".html", ".js", ".css", ".svg", ".json", ".ipynb", ".txt"}


class Compressing(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix in TEXT:
            body = gzip.compress(body, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.sent.append(len(body))

    def log_message(self, *_: object) -> None:
        pass


def measure(site: Path, page: str) -> tuple[int, int, int, float]:
    """Return bytes of bodies, requests to the site and to others, first paint in ms."""
    handler = partial(Compressing, directory=str(site))
    with chromium() as browser, ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.sent = []
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        tab = browser.new_page()
        foreign: set[str] = set()

        def refuse(route) -> None:
            foreign.add(route.request.url)
            route.abort()

        host = f"127.0.0.1:{server.server_port}"
        tab.route(lambda url: urlsplit(url).netloc != host and url.startswith("http"), refuse)
        tab.goto(f"http://{host}/{page}", wait_until="networkidle")
        paint = tab.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
        )
        server.shutdown()
        return sum(server.sent), len(server.sent), len(foreign), paint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--pages", nargs="+", default=PAGES)
    arguments = parser.parse_args()
    print("| page | site | KB | requests | to other hosts | first paint, ms |")
    print("|---|---|---|---|---|---|")
    for page in arguments.pages:
        for site in arguments.sites:
            if (site / page).is_file():
                size, own, others, paint = measure(site, page)
                print(f"| {page} | {site} | {size / 1000:.0f} | {own} | {others} | {paint:.0f} |")


if __name__ == "__main__":
    main()
