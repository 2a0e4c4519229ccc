"""A simulated deployment: built as the workflow builds it, and served below a path.

The site knows its address; its repository is the one that the environment of a CI names.
"""

import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from xml.etree import ElementTree

import pytest
from booksite import address as addresses
from booksite import launch, wheel
from site_browser import WIDE, Quiet, visit
from site_checks import Page

ROOT = Path(__file__).parents[2]
CI = {
    "BOOK_NOTEBOOKS": "colab",
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_REPOSITORY": "reader/attention",
    "GITHUB_SERVER_URL": "https://github.com",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The address of the site, and the folder that is served there."""
    root = tmp_path_factory.mktemp("host")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/reader/attention/"
        output = tmp_path_factory.mktemp("published")
        start = "from jupyter_book.cli.main import main; main()"  # it has no -m form
        command = [sys.executable, "-c", start, "build", ROOT, "--path-output", output]
        run = subprocess.run(
            [*command, "-W", "-n", "--keep-going"], check=False, capture_output=True,
            encoding="utf-8", env={**os.environ, **CI, "BOOK_URL": url.rstrip("/")},
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        (root / "reader").mkdir()
        (root / "reader" / "attention").symlink_to(output / "_build" / "html")
        yield url, output / "_build" / "html"
        server.shutdown()
        thread.join()


def get(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def crawl(url):
    """Follow every link from the front page: the pages by their address, and what is broken."""
    pages, broken, waiting, asked = {}, [], [url], set()
    while waiting:
        here = waiting.pop()
        if here in asked:
            continue
        asked.add(here)
        status, data = get(here)
        if status != 200:
            broken.append(f"{here}: {status}")
        elif here.endswith((".html", "/")):
            pages[here] = page = Page.from_text(Path(urlsplit(here).path), data.decode("utf-8"))
            for link in [*page.links, *page.fetched]:
                there = urldefrag(urljoin(here, link)).url
                if there.startswith(url):
                    waiting.append(there)
    for here, page in pages.items():
        for link in page.links:
            there, anchor = urldefrag(urljoin(here, link))
            if there in pages and anchor and unquote(anchor) not in pages[there].ids:
                broken.append(f"{here}: no {link}")
    return pages, broken


def test_every_link_leads_somewhere_and_every_page_can_be_reached(published):
    url, site = published
    pages, broken = crawl(url)
    assert broken == []
    files = {
        p.relative_to(site).as_posix() for p in site.rglob("*.html") if "_static" not in p.parts
    }
    files -= {"search.html"}  # its address stands in the form that searches
    assert {page.removeprefix(url) or "index.html" for page in pages} | {"index.html"} == files
    for here, page in pages.items():
        assert [a for a in page.fetched if not urljoin(here, a).startswith((url, "data:"))] == []


def test_the_crawl_finds_what_is_broken(tmp_path, published):
    url, site = published
    (site / "_static" / "broken").mkdir()
    page = '<a href="nowhere.html"></a><a href="two.html#no"></a><a href="two.html#yes"></a>'
    (site / "_static" / "broken" / "index.html").write_text(page, encoding="utf-8")
    (site / "_static" / "broken" / "two.html").write_text('<p id="yes">', encoding="utf-8")
    here = f"{url}_static/broken/"
    _, broken = crawl(here)
    assert broken == [f"{here}nowhere.html: 404", f"{here}: no two.html#no"]


def test_pages_have_canonical_addresses_and_the_sitemap_lists_all_pages(published):
    url, site = published
    tree = ElementTree.parse(site / "sitemap.xml")
    listed = [element.text for element in tree.iter(f"{{{addresses.SITEMAP}}}loc")]
    assert len(listed) == len(set(listed)) > 15
    for page in listed:
        status, data = get(page)
        assert status == 200
        text = data.decode("utf-8")
        assert re.findall(r'<link rel="canonical" href="([^"]*)"', text) == [page]
        said = dict(re.findall(r'<meta property="og:(.*?)" content="(.*?)" />', text))
        assert said["url"] == page
        assert len(said["description"]) > 20
        assert said["title"]
        assert "—" not in said["title"]  # the name of the book has a tag of its own
        assert get(said["image"]) == (200, (ROOT / addresses.PREVIEW).read_bytes())
        assert (said["image:width"], said["image:height"]) == ("1200", "630")
        assert '<a href="https://github.com/reader/attention">The book' in text
    front = get(url)[1].decode("utf-8")
    assert '<meta property="og:title" content="Attention, Number by Number" />' in front
    assert '<meta property="og:type" content="website" />' in front


def test_launch_buttons_lead_to_files_that_git_tracks(published):
    _, site = published
    tracked = launch._git(ROOT, "ls-files").splitlines()
    if not tracked:
        pytest.skip("not a git checkout")
    seen = 0
    for path in sorted(site.glob("chapters/*.html")):
        text = path.read_text(encoding="utf-8")
        (binder,) = re.findall(r"https://mybinder\.org/v2/gh/([^\"]*)", text)
        assert binder == f"reader/attention/main?urlpath=lab/tree/chapters/{path.stem}.ipynb"
        (colab,) = re.findall(r"https://colab\.research\.google\.com/github/([^\"]*)", text)
        assert colab == f"reader/attention/blob/colab/chapters/{path.stem}.ipynb"
        assert f"chapters/{path.stem}.ipynb" in tracked
        # What the deployment lays on the branch colab is what the site offers.
        assert (site / "_sources" / "chapters" / f"{path.stem}.ipynb").is_file()
        seen += 1
    assert seen == len(list(ROOT.glob("chapters/*.ipynb")))
    assert {".binder/requirements.txt", ".binder/runtime.txt"} <= set(tracked)


def test_notebooks_of_the_site_have_the_address_of_its_wheel(published):
    url, site = published
    for path in site.glob("_sources/chapters/*.ipynb"):
        (address,) = re.findall(r'wheel = \\"(.*?)\\"', path.read_text(encoding="utf-8"))
        assert address == f"{url}{wheel.name_of(ROOT)}"
    status, data = get(address)
    assert (status, data[:2]) == (200, b"PK")


def test_published_pages_work_in_a_browser(published, browser):
    url, _ = published
    for page in ("", "chapters/05_masks.html"):
        assert visit(browser, f"{url}{page}", width=WIDE, thorough=False) == []


@pytest.mark.parametrize("bad", ["example.org", "file:///tmp"])
def test_an_address_without_http_or_https_is_refused(bad):
    with pytest.raises(Exception, match="BOOK_URL must be an address that begins with http"):
        addresses.site_url({"BOOK_URL": bad})


def test_an_address_gets_a_slash_and_may_be_absent():
    assert addresses.site_url({}) == ""
    for given in ("https://example.org/book", "https://example.org/book/"):
        assert addresses.site_url({"BOOK_URL": given}) == "https://example.org/book/"


def test_a_link_preview_has_the_title_and_description_of_its_page():
    said = '<meta name="description" content="A &quot;b&quot;." />'
    head = f"<title>1. Two &lt; three? — Book</title>{said}"
    tags = addresses.preview(head, "https://example.org/", "a/b", size=(12, 6), book="Book")
    assert '<meta property="og:title" content="1. Two &lt; three?" />' in tags
    assert '<meta property="og:description" content="A &quot;b&quot;." />' in tags
    assert '<meta property="og:type" content="article" />' in tags
    assert '<meta property="og:url" content="https://example.org/a/b.html" />' in tags
    assert "og:description" not in addresses.preview(
        "<title>x</title>", "u/", "p", size=(1, 1), book=""
    )
