import { make, valueAt } from "./elements.js";
import { wholeNumber } from "./whole.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Make a whole number that follows the state. data-digits="-1" tells the tests to expect groups
 * of three digits.
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
 * Make the shape of a tensor, as Python writes it.
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
