"""The short inline scripts of the pages."""

from __future__ import annotations

import json

# The scripts of the theme and of Sphinx use storage without a check that it works. Where cookies
# are blocked, and in a sandboxed frame, this throws and stops them: no side bar, no theme switch,
# no search. A stand-in, which lasts as long as the page, replaces the storage; entries that can
# still be read are copied. A sandboxed frame may also block forms, so the search sets the address.
STORAGE = """\
(() => {
  let forms = self === top;
  for (const name of ["localStorage", "sessionStorage"]) {
    let store;
    try {
      store = window[name];
      store.setItem("", "");
      store.removeItem("");
    } catch {
      forms = false;
      const kept = new Map(Object.entries(store ?? {}));
      const value = {
        getItem: key => kept.get(`${key}`) ?? null,
        setItem: (key, text) => void kept.set(`${key}`, `${text}`),
        removeItem: key => void kept.delete(`${key}`),
        clear: () => kept.clear(),
        key: number => [...kept.keys()][number] ?? null,
        get length() { return kept.size; },
      };
      Object.defineProperty(window, name, {value, configurable: true});
    }
  }
  if (!forms) addEventListener("keydown", event => {
    const form = event.target.closest?.("form.bd-search");
    if (!form || event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    location.href = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  });
})();"""

# Print the light theme: paper is white.
PRINT = """\
(root => {
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
})(document.documentElement);"""

# A browser without MathML shows the text of a formula in one line, so that ¼ reads 14. There each
# formula is replaced by its LaTeX, and a note says so.
MATHML = """\
addEventListener("DOMContentLoaded", () => {
  const make = name => document.createElementNS("http://www.w3.org/1998/Math/MathML", name);
  const probe = make("math"), space = probe.appendChild(make("mspace"));
  space.setAttribute("width", "20px");
  document.body.append(probe);
  const drawn = space.getBoundingClientRect().width > 10;
  probe.remove();
  if (drawn) return;
  for (const math of document.querySelectorAll("math[data-tex]")) {
    const code = document.createElement("code");
    code.textContent = math.getAttribute("data-tex");
    math.replaceWith(code);
  }
  const note = document.createElement("p");
  note.className = "no-mathml";
  note.textContent = "This browser cannot draw formulas (MathML). They are shown as LaTeX.";
  document.querySelector("article h1")?.after(note);
});"""


def fonts(names: dict[str, str]) -> str:
    """Return a script that loads fonts at once; ``names`` maps each to a character that it has.

    Fonts that load at their first use are ready after the first paint, and shift the layout.
    """
    return "".join(
        f"document.fonts.load('1em \"{name}\"', '{character}');"
        for name, character in names.items()
    )


def excerpts(descriptions: dict[str, str]) -> str:
    """Return a script that shows descriptions in search results where pages cannot be fetched.

    A page that was opened as a file, or in a sandboxed frame, may not fetch others.
    """
    # Escaped, so that no text can end the script element.
    table = json.dumps(descriptions, ensure_ascii=False).replace("<", "\\u003c")
    return f"""\
if (location.protocol === "file:" || self.origin === "null") {{
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const about = {table};
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  addEventListener("DOMContentLoaded", () => new MutationObserver(() => {{
    for (const link of document.querySelectorAll("#search-results li > a:only-child")) {{
      const text = about[link.href.replace(root, "").replace(/\\.html.*/, "")];
      if (!text) continue;
      const said = document.createElement("p");
      said.className = "context";
      said.textContent = text;
      link.after(said);
    }}
  }}).observe(document.getElementById("search-results"), {{childList: true, subtree: true}}));
}}"""
