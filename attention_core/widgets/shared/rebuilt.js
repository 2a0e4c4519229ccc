import { make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {import("./figure.js").Place} Place */
/** @typedef {import("./figure.js").State} State */

/**
 * Make a part that is built again when one of the values that `sign` returns changes. `build` gets
 * a view of its own, so that the callbacks of the old elements are dropped.
 *
 * @param {View} view
 * @param {(numbers: any, state: any) => unknown[]} sign
 * @param {(view: View, numbers: any, state: any) => Node | Node[]} build
 */
export const rebuiltPart = (view, sign, build) => {
  const part = make("div.live-part");
  /** @type {Place[]} */
  let places = [];
  /** @type {unknown[] | null} */
  let before = null;
  view.each((numbers, state) => {
    const now = sign(numbers, state);
    if (before === null || now.some((value, i) => value !== before?.[i])) {
      before = now;
      places = [];
      const own = { ...view, each: (/** @type {Place} */ place) => places.push(place) };
      part.replaceChildren(...[build(own, numbers, state)].flat());
    }
    for (const place of places) place(numbers, state);
  });
  return part;
};
