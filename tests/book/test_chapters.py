"""Every chapter keeps the rules of ``chapter_lint``; its outputs are compared by nbval."""

import json
import re
import warnings
from pathlib import Path

import nbformat
import pytest
from chapter_form import read
from chapter_lint import RULES, large_tensors, problems
from chapter_text import headings, literal_includes, words

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


@each_chapter
def test_format_is_valid(path):
    data = path.read_bytes()
    assert b"\r" not in data, f"{path.name} has CR line ends"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(json.loads(data.decode("utf-8")))


@each_chapter
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_chapter_keeps_each_rule(path, rule):
    found = problems(path, read(path), rule)
    assert not found, "\n" + "\n".join(found)


def test_all_notebooks_are_in_folders_that_are_checked():
    found = [
        *ROOT.glob("*.ipynb"),
        *ROOT.glob("[!._]*/*.ipynb"),
        *ROOT.glob("chapters/[!.]*/*.ipynb"),
    ]
    assert sorted(found) == CHAPTERS


def test_table_of_contents_lists_each_chapter_once():
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(r"^[ -]*(?:file|root):\s*[\"']?([^\s\"'#]+)", toc, re.MULTILINE)
    listed = [e.removesuffix(".ipynb") for e in entries if e.startswith("chapters/")]
    assert listed == [f"chapters/{path.stem}" for path in CHAPTERS]
    names = [re.sub(r"\.(ipynb|md)$", "", entry) for entry in entries]
    assert not [
        name
        for name in names
        if not any((ROOT / f"{name}{suffix}").is_file() for suffix in (".ipynb", ".md"))
    ]


def test_nbval_verifies_pictures_in_this_run(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("notebook_plugin")


MARKDOWN = """# Title

One *two* `code` $x = 1$ <span class="q">three-fold</span> [four](http://x.org/a-b).

```python
# no heading, no words
```

````{admonition} Five six
:class: dropdown

Seven.

```{literalinclude} ../attention_core/functional.py
:pyobject: Layer.forward
```
````

### Sub
"""


def test_markdown_is_split_into_its_parts():
    assert list(headings(MARKDOWN)) == [(1, "Title"), (3, "Sub")]
    assert words(MARKDOWN) == 9
    included = ("../attention_core/functional.py", "Layer.forward")
    assert list(literal_includes(MARKDOWN)) == [included]


def test_large_tables_are_found():
    row = "[" + ", ".join(["1.0"] * 6) + "]"
    six, seven = ",\n".join([row] * 6), ",\n".join([row] * 7)
    assert list(large_tensors(f"tensor([{six}])")) == []
    assert list(large_tensors(f"tensor([{seven}])")) == [
        "prints a table of 7x6 numbers, at most 6x6"
    ]
    assert list(large_tensors("tensor([[1, 2, 3, 4, 5, 6, 7],\n[1, 2, 3, 4, 5, 6, 7]])"))
    assert list(large_tensors("tensor([1, 2, 3, 4, 5, 6, 7, 8], dtype=torch.uint8)")) == []
    assert list(large_tensors(f"tensor([[{six}],\n\n[{six}]])")) == []
