import { decimals, make, valueAt } from "./elements.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {import("./figure.js").Place} Place */

/**
 * Make a number that follows the state. Data attributes tell the tests its path and digits. It is
 * a span: an <output> would be a live region, and would not count in the name of a button.
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
 * Make the sentence that states the result. This visible one changes at once and is hidden from
 * screen readers. They read it in the figure's live region, which gets it after the last change.
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
