import { decimals, make, valueAt } from "./elements.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {import("./figure.js").Place} Place */

/**
 * A number that follows the state. Its path and its digits stand on it for the tests. It is a
 * span: an <output> would be a live region of its own, without a name for the button around it.
 *
 * @param {View} view
 * @param {string} path
 * @param {{ digits?: number, role?: string | null }} [options]
 */
export const liveNumber = (view, path, { digits = 4, role = null } = {}) => {
  const place = make(`span.live-number${role ? `.${role}` : ""}`, {
    "data-key": path,
    "data-digits": digits,
  });
  view.each((numbers) => {
    place.textContent = decimals(valueAt(numbers, path), digits);
  });
  return place;
};

/**
 * The sentence that tells the result. Screen readers find it in the figure's live region, which
 * gets it when the figure rests; the one to look at changes at once.
 *
 * @param {View} view
 * @param {(numbers: any, state: any) => string} say
 */
export const resultSentence = (view, say) => {
  const place = make("p.live-reading", { "aria-hidden": "true" });
  view.each((numbers, state) => {
    const text = say(numbers, state);
    if (place.textContent === text) return;
    place.textContent = text;
    view.announce(text);
  });
  return place;
};
