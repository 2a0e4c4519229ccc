// Two tables for masks: one to paint by hand, one that shows numbers as shades.

import { make, valueAt } from "./elements.js";
import { arrowOf } from "./keys.js";
import { liveNumber } from "./numbers.js";
import { wordNode } from "./words.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Make a table of numbers whose cells are shaded by size. The number stands in the cell, so
 * nothing is told by colour alone. `shade` maps a number to a strength between 0 and 1.
 *
 * @param {View} view
 * @param {{ path: string, words: string[], caption: string, role: string,
 *   shade: (value: number) => number }} options
 */
export const shadedGrid = (view, { path, words, caption, role, shade }) => {
  const cells = words.map((_, i) =>
    words.map((__, j) => {
      const cell = make("td", {}, liveNumber(view, `${path}.${i}.${j}`, { digits: 2 }));
      view.each((numbers) => {
        // At most 40 %: the number must be legible in the dark theme, too.
        const share = Math.round(Math.min(1, shade(valueAt(numbers, path)[i][j])) * 40);
        cell.style.background = `color-mix(in srgb, var(--live-${role}) ${share}%, transparent)`;
      });
      return cell;
    }),
  );
  const heads = words.map((word) => make("th", { scope: "col" }, wordNode(word)));
  const lines = words.map((word, i) =>
    make("tr", {}, make("th", { scope: "row" }, wordNode(word)), cells[i]),
  );
  const table = make(
    "table.live-grid",
    {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("td"), heads)),
    make("tbody", {}, lines),
  );
  // A scroll box with a tab stop: a wide table scrolls, also by keyboard, and the page does not.
  return make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": caption }, table);
};

/**
 * Make a square table of toggle buttons, to paint a mask. A click toggles a cell; a drag sets every
 * cell on its way to the new value of the first. The table is one tab stop, and arrow keys move
 * inside. `path` leads to the numbers in the cells, `sums` to the number after each row.
 *
 * @param {View} view
 * @param {string} key
 * @param {{ path: string, sums: string, words: string[], caption: string,
 *   label: (row: string, column: string) => string }} options
 */
export const maskTable = (view, key, { path, sums, words, caption, label }) => {
  const is = (/** @type {number} */ i, /** @type {number} */ j) => Boolean(view.get(key)[i][j]);
  const put = (/** @type {number} */ i, /** @type {number} */ j, /** @type {boolean} */ value) => {
    if (is(i, j) === value) return;
    /** @type {boolean[][]} */
    const mask = view.get(key);
    view.set(
      key,
      mask.map((row, m) => row.map((x, n) => (m === i && n === j ? value : x))),
    );
  };
  /** @type {Map<unknown, [number, number]>} */
  const places = new Map();
  /** @type {boolean | null} */
  let stroke = null; // the value that a drag paints; null if there is none
  /** @type {HTMLElement | null} */
  let pressed = null; // toggled by pointerdown already: ignore its click
  /** @type {HTMLElement[][]} */
  const cells = words.map((row, i) =>
    words.map((column, j) => {
      const button = make(
        "button",
        {
          type: "button",
          tabindex: i + j ? -1 : 0,
          "data-control": key,
          "aria-label": label(row, column),
          onpointerdown: (/** @type {PointerEvent} */ event) => {
            if (event.button) return;
            pressed = button;
            stroke = !is(i, j);
            put(i, j, stroke);
          },
          onclick: () => {
            if (pressed === button) pressed = null;
            else put(i, j, !is(i, j));
          },
          onfocus: () => {
            for (const other of cells.flat()) other.tabIndex = other === button ? 0 : -1;
          },
        },
        liveNumber(view, `${path}.${i}.${j}`, { digits: 2 }),
      );
      places.set(button, [i, j]);
      view.each((numbers) => {
        button.setAttribute("aria-pressed", String(is(i, j)));
        const share = Math.round(34 * valueAt(numbers, path)[i][j]);
        button.style.setProperty("--share", `${share}%`);
      });
      return button;
    }),
  );
  const lines = words.map((word, i) => {
    const sum = make("td.sum", {}, liveNumber(view, `${sums}.${i}`, { digits: 2 }));
    view.each((numbers) => sum.classList.toggle("nothing", valueAt(numbers, sums)[i] === 0));
    const buttons = cells[i].map((button) => make("td", {}, button));
    return make("tr", {}, make("th", { scope: "row" }, wordNode(word)), buttons, sum);
  });
  const heads = words.map((word) => make("th", { scope: "col" }, wordNode(word)));
  const table = make(
    "table.live-paint",
    { role: "grid", "aria-label": caption },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("td"), heads, make("th", { scope: "col" }, "sum"))),
    make("tbody", {}, lines),
  );
  const end = () => {
    stroke = null;
  };
  for (const kind of ["pointerup", "pointercancel"]) table.addEventListener(kind, end);
  table.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (stroke === null) return;
    if (!event.buttons) return end(); // released outside the table
    // A fast drag crosses several cells between two events.
    for (const { clientX, clientY } of [...(event.getCoalescedEvents?.() ?? []), event]) {
      const below = table.getRootNode().elementFromPoint(clientX, clientY);
      const place = places.get(below?.closest("button"));
      if (place) put(...place, stroke);
    }
  });
  table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const place = places.get(event.target);
    if (!place) return;
    pressed = null; // a click after this comes from the keyboard
    const last = words.length - 1;
    const ends = { Home: [-last, 0], End: [last, 0] };
    const [right, up] = arrowOf(event) ?? ends[/** @type {"Home"} */ (event.key)] ?? [0, 0];
    if (!(right || up) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const inside = (/** @type {number} */ at) => Math.max(0, Math.min(last, at));
    cells[inside(place[0] - up)][inside(place[1] + right)].focus();
  });
  return make("div.live-scroll", {}, table);
};
