// Two tables for masks: one to paint by hand, one that shows what comes of it.

import { make, valueAt } from "./elements.js";
import { arrowOf } from "./keys.js";
import { liveNumber } from "./numbers.js";
import { wordNode } from "./words.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Cells whose shade says how large they are, each with its number: never colour alone. `shade`
 * turns a number into a strength between 0 and 1.
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
        // Not stronger: the number on it must be legible on the dark page, too.
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
  // A box of its own, so that a wide table scrolls and the page does not; by keyboard, too.
  return make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": caption }, table);
};

/**
 * A square table of yes and no, painted by hand. Each cell is a button: a click turns it over, a
 * drag gives every cell on its way what the first one got. The tab key stops once, arrow keys
 * move inside. `path` leads to the number in a cell that is on, `sums` to the one behind a row.
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
  let stroke = null; // what the drag paints
  /** @type {HTMLElement | null} */
  let pressed = null; // the button whose click the drag has already answered
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
    if (!event.buttons) return end(); // let go outside
    // A fast hand passes several cells between two events.
    for (const { clientX, clientY } of [...(event.getCoalescedEvents?.() ?? []), event]) {
      const below = table.getRootNode().elementFromPoint(clientX, clientY);
      const place = places.get(below?.closest("button"));
      if (place) put(...place, stroke);
    }
  });
  table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const place = places.get(event.target);
    if (!place) return;
    pressed = null; // a click from here on is the keyboard's
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
