import { make } from "./elements.js";
import { arrowOf } from "./keys.js";
import { liveNumber } from "./numbers.js";
import { wordNode } from "./words.js";

/**
 * @typedef {object} Look of a cell
 * @property {number} level the strength of its colour, −1 to 1; the sign chooses the colour
 * @property {string} [role] take the colour of this role instead
 * @property {Record<string, boolean>} [marks] CSS classes to switch on or off
 */

/**
 * Make a table of numbers as wide as its container. `bands` returns the column headers for a
 * state, each with the number of columns that it spans. `shown` stands in the place of the
 * caption, which then only names the table. With `pick`, the cells are buttons that share one tab
 * stop, and arrow keys move to the next cell and pick it.
 *
 * @param {import("./figure.js").View} view
 * @param {{ path: string, rows: string[], columns: string[], caption: string, corner: string,
 *   shown?: string | (Node | string)[], digits: number, paint: (numbers: any, state: any, i: number, j: number) => Look,
 *   bands?: (state: any) => [string, number][], pick?: (i: number, j: number) => void,
 *   picked?: (state: any) => [number, number] }} options
 */
export const pickableCells = (view, options) => {
  const { path, rows, columns, caption, corner, digits, paint, bands, pick, picked } = options;
  const { shown = caption } = options;
  /** @type {HTMLElement[][]} */
  const insides = rows.map((_, i) =>
    columns.map((__, j) => {
      const number = liveNumber(view, `${path}.${i}.${j}`, { digits });
      const inside = pick
        ? make("button.live-cell", { type: "button", "data-control": "cell" }, number)
        : make("span.live-cell", {}, number);
      view.each((numbers, state) => {
        const { level, role, marks = {} } = paint(numbers, state, i, j);
        const share = Math.round(Math.min(1, Math.abs(level)) * 40);
        const colour = `var(--live-${role ?? (level < 0 ? "negative" : "positive")})`;
        inside.style.background = `color-mix(in srgb, ${colour} ${share}%, var(--live-surface))`;
        for (const [mark, on] of Object.entries(marks)) inside.classList.toggle(mark, on);
      });
      return inside;
    }),
  );
  const each = (/** @type {(inside: HTMLElement, i: number, j: number) => void} */ treat) => {
    for (const [i, line] of insides.entries()) {
      for (const [j, inside] of line.entries()) treat(inside, i, j);
    }
  };
  if (pick) {
    each((button, i, j) => {
      button.addEventListener("click", () => pick(i, j));
      button.addEventListener("keydown", (event) => {
        const [right, up] = arrowOf(event) ?? [0, 0];
        const next = insides[i - up]?.[j + right];
        if (!(right || up) || !next) return;
        event.preventDefault();
        next.focus();
        pick(i - up, j + right);
      });
    });
  }
  if (picked) {
    view.each((_, state) => {
      const [row, column] = picked(state);
      each((button, i, j) => {
        const here = i === row && j === column;
        button.setAttribute("aria-pressed", String(here));
        button.tabIndex = here ? 0 : -1;
      });
    });
  }
  const top = make("tr");
  /** @type {string | null} */
  let before = null;
  view.each((_, state) => {
    const texts = bands?.(state) ?? columns.map((text) => /** @type {const} */ ([text, 1]));
    if (String(texts) === before) return;
    before = String(texts);
    const heads = texts.map(([text, span]) =>
      make("th", { scope: span > 1 ? "colgroup" : "col", colspan: span }, wordNode(text)),
    );
    top.replaceChildren(make("td", {}, corner), ...heads);
  });
  const lines = rows.map((word, i) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, wordNode(word)),
      insides[i].map((inside) => make("td", {}, inside)),
    ),
  );
  const table = make(
    "table.live-cells",
    {},
    make("caption", {}, shown),
    make("thead", {}, top),
    make("tbody", {}, lines),
  );
  return make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": caption }, table);
};
