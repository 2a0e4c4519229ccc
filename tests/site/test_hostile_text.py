"""Text that authors, forks and their CI can choose reaches each place escaped for that place."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from booksite import address, copies, launch, scripts
from booksite.latex import convert
from booksite.pages import finish

HOSTILE = """</script></title>"><img src=x onerror='alert(1)'> & `x` {{ y }} <!-- \u2028 早"""
ESCAPED = (
    HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
)


class Reader(HTMLParser):
    """The tags of a page, and its attributes by the names of their tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    handle_startendtag = handle_starttag


def page(body: str, title: str = "A") -> str:
    head = f'<head><meta charset="utf-8" /><title>{title}</title></head>'
    return f"<html>{head}<body><article>{body}</article></body></html>"


def test_a_description_is_escaped_as_an_attribute():
    made = finish(page(f"<p>{ESCAPED}</p>"), lambda _: (1, 1))
    tags = Reader(made).tags
    (said,) = (given for tag, given in tags if given.get("name") == "description")
    assert said["content"] == " ".join(HOSTILE.split())
    assert "img" not in [tag for tag, _ in tags]


def test_an_image_keeps_html_characters_in_its_attributes_and_gets_its_size():
    asked = []
    image = """<img alt="a > b, src=&quot;x&quot; width='3'" hidden src="b&amp;c.png">"""
    made = finish(page(f"<p>{image}</p>"), lambda source: asked.append(source) or (4, 2))
    (given,) = (given for tag, given in Reader(made).tags if tag == "img")
    assert asked == ["b&c.png"]
    assert given == {
        "alt": """a > b, src="x" width='3'""", "hidden": None, "src": "b&c.png",
        "width": "4", "height": "2",
    }  # fmt: skip


def test_a_description_leaves_out_tags_even_with_html_characters_in_attributes():
    made = finish(page('<p>One <a title="a > b">two</a>.</p>'), lambda _: (1, 1))
    assert 'content="One two."' in made


def test_a_link_preview_is_escaped_as_attributes():
    text = page("", title=f"{ESCAPED} — B") + f'<meta name="description" content="{ESCAPED}" />'
    url = "https://example.org/a&b/"
    tags = Reader(address.preview(text, url, "x y/早", size=(1, 2), book="B")).tags
    assert {tag for tag, _ in tags} == {"meta"}
    said = {given["property"]: given["content"] for _, given in tags if "property" in given}
    assert said["og:title"] == said["og:description"] == HOSTILE
    assert said["og:url"] == "https://example.org/a&b/x%20y/%E6%97%A9.html"


def test_the_sitemap_is_valid_xml_with_quoted_addresses():
    pages = ["a&b", "x y/早", "<c>", "d#e?f"]
    tree = ElementTree.fromstring(address.sitemap("https://example.org/a&b/", pages))
    listed = [entry.text for entry in tree.iter(f"{{{address.SITEMAP}}}loc")]
    assert listed == [
        "https://example.org/a&b/" + name
        for name in ("a%26b.html", "x%20y/%E6%97%A9.html", "%3Cc%3E.html", "d%23e%3Ff.html")
    ]


@pytest.mark.parametrize("sign", [*"\"'<>\\`()[]{}#?|^$* \n", "早"])
def test_an_address_with_special_characters_is_refused(sign):
    with pytest.raises(Exception, match="BOOK_URL must be an address that begins with http"):
        address.site_url({"BOOK_URL": f"https://example.org/a{sign}b"})


@pytest.mark.parametrize("name", ['a/b"><script>', "a/b c", "a", "a/b/c", "a/早", "a/b\n"])
def test_an_invalid_repository_name_is_ignored(name):
    environment = {
        "GITHUB_REPOSITORY": name,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_SERVER_URL": "https://github.com",
    }
    assert launch.repository(Path(), environment) is None


def test_the_repository_in_the_footer_is_escaped():
    found = launch.Repository('a/b"><script>', "main", "HEAD")
    assert {tag for tag, _ in Reader(launch.imprint(found)).tags} == {"p", "a"}


def test_addresses_of_other_services_are_quoted(monkeypatch, tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / 'a "b" #c?.ipynb').touch()
    tracked = "\0".join([launch.ENVIRONMENT, 'chapters/a "b" #c?.ipynb'])
    monkeypatch.setattr(launch, "_git", lambda _, *what: tracked if "ls-tree" in what else "")
    environment = {
        "BOOK_NOTEBOOKS": 'x"#y',
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_REF": 'refs/heads/m"#n',
        "GITHUB_SERVER_URL": "https://github.com",
    }
    (services,) = launch.links(tmp_path, environment).values()
    assert set(services) == {"Binder", "Colab"}
    for url in services.values():
        assert not set(url) & set("\"<> #'")
        parts = urlsplit(url)
        assert (parts.scheme, parts.fragment) == ("https", "")
        assert len(parts.query.split("?")) == 1


def test_descriptions_in_the_search_script_cannot_close_it():
    script = scripts.excerpts({"a": HOSTILE})
    assert "<" not in re.search(r"const about = (.*);", script)[1]
    assert json.loads(re.search(r"const about = (.*);", script)[1]) == {"a": HOSTILE}


def test_the_latex_of_a_formula_is_escaped_as_an_attribute():
    latex = """x < y > "z" '"""
    (math,) = (given for tag, given in Reader(convert(latex)).tags if tag == "math")
    assert math["data-tex"] == latex


def test_copies_escape_titles_and_lengthen_the_fence_around_source_with_fences(tmp_path):
    fold = "````{admonition} a < b & <img>\n:class: dropdown\n\ntext\n````"
    made = copies.readable(fold, tmp_path, "", {})
    assert "<summary>a &lt; b &amp; &lt;img&gt;</summary>" in made
    source = 'def f():\n    """Like\n\n    ```\n    code\n    ```\n    """'
    (tmp_path / "a.py").write_text(source, encoding="utf-8")
    made = copies.readable("```{literalinclude} a.py\n:pyobject: f\n```", tmp_path, "", {})
    (shown,) = re.findall(r"^````python\n(.*)\n````$", made, re.DOTALL)
    assert shown == source
    ast.parse(shown)
