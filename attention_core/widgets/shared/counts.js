import { make, valueAt } from "./elements.js";
import { wholeNumber } from "./whole.js";

/** @typedef {import("./figure.js").View} View */

/**
 * A whole number that follows the state. Its number of digits, for the tests, is −1: they
 * expect groups of three digits there.
 *
 * @type {(view: View, path: string) => HTMLElement}
 */
export const liveCount = (view, path) => {
  const place = make("span.live-number", { "data-key": path, "data-digits": -1 });
  view.each((numbers) => {
    place.textContent = wholeNumber(valueAt(numbers, path));
  });
  return place;
};

/**
 * The sizes of a tensor's axes, as Python writes them.
 *
 * @param {View} view
 * @param {string} path
 * @param {{ axes: number, role?: string | null }} options
 */
export const liveShape = (view, path, { axes, role = null }) => {
  const sizes = Array.from({ length: axes }, (_, i) => liveCount(view, `${path}.${i}`));
  const inner = sizes.flatMap((size, i) => (i ? [", ", size] : [size]));
  return make(`span.live-shape${role ? `.${role}` : ""}`, {}, "(", inner, ")");
};
