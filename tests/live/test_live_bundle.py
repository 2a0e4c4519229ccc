"""The bundler joins the modules of a page's figures into one script, or says why it cannot."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from live_states import FIGURES
from node_runs import node

from attention_core.widgets import bundle
from attention_core.widgets.figure import HERE, script_of

HOST = HERE / "host.js"
# math.js is so short that figures ship all of it, used or not.
TINY = {"math.js"}


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


def exported(name, folder):
    file = folder / "bundle.mjs"
    file.write_text(bundle.module(folder / f"{name}.js"), encoding="utf-8")
    code = f"import('{file.as_uri()}').then(m => console.log(JSON.stringify({{...m}})))"
    run = subprocess.run(
        [node(), "--eval", code], capture_output=True, encoding="utf-8", check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("module", FIGURES)
def test_a_page_ships_only_what_its_figure_uses(module):
    paths = bundle.needed([HERE / f"{module}.js"])
    texts = [path.read_text(encoding="utf-8") for path in paths]
    imported = {
        name.strip()
        for text in texts
        for names in re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE)
        for name in names.split(",")
    }
    for path, text in zip(paths, texts, strict=True):
        if path.name not in TINY:
            unused = set(re.findall(r"^export const (\w+)", text, re.MULTILINE)) - imported
            assert not unused, f"{path.name} has {unused}, which {module} does not use"


def test_every_shared_module_is_used_by_a_figure():
    used = bundle.needed([HERE / f"{module}.js" for module in FIGURES])
    assert set((HERE / "shared").glob("*.js")) <= set(used)


def test_figures_of_one_page_share_their_modules():
    pair = [HERE / "attention_map.js", HERE / "translator.js"]
    both = bundle.page_script(pair, HOST)
    assert both.count("const module_elements = ") == 1
    alone = sum(len(bundle.page_script([path], HOST)) for path in pair)
    assert len(both) < 0.9 * alone


def test_comments_for_readers_are_not_shipped():
    text = script_of("two_vectors")
    assert not re.search(r"^\s*(//|/\*\*)", text, re.MULTILINE)


def test_modules_keep_their_own_names_apart(tmp_path):
    write(
        tmp_path,
        low="const n = 1;\nexport const low = () => n;\n",
        mid='import { low } from "./low.js";\nconst n = 10;\nexport const mid = () => n + low();\n',
        top='import { low } from "./low.js";\nimport {\n  mid,\n} from "./mid.js";\n'
        "const n = 100;\nexport const sum = n + mid() + low();\nexport default { n };\n",
    )
    assert exported("top", tmp_path) == {"sum": 112, "default": {"n": 100}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import x from './low.js';\n", r"top\.js: cannot read `import x from './low\.js';`"),
        ('import * as low from "./low.js";\n', r"top\.js: cannot read `import \* as low"),
        ("export function f() {}\n", r"top\.js: cannot read `export function f\(\) \{\}`"),
        ("export default 1;\nexport default 2;\n", "at most one `export default`"),
        (
            'import { top } from "./top.js";\n',
            r"circular import: top\.js imports itself through top\.js",
        ),
        ("const a = `one\ntwo`;\n", "line 1: a template must be on one line, got const a = `one"),
    ],
)
def test_unsupported_javascript_is_refused_with_its_file_and_line(tmp_path, text, message):
    write(tmp_path, low="export const low = 1;\n", top=text)
    with pytest.raises(ValueError, match=message):
        bundle.module(tmp_path / "top.js")


def test_a_figure_without_default_export_is_named(tmp_path):
    write(tmp_path, top="export const a = 1;\n")
    with pytest.raises(ValueError, match=r"top\.js must have one `export default`"):
        bundle.page_script([tmp_path / "top.js"], HOST)
