import { decimals, make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Make a slider for one number of the state, with the label before it and the value after it.
 *
 * @param {View} view
 * @param {string} key
 * @param {{ label: string, min: number, max: number, step: number, digits?: number,
 *   role?: string | null }} options
 */
export const sliderControl = (view, key, { label, min, max, step, digits = 2, role = null }) => {
  const id = `${view.id}-${key}`;
  const input = make("input", {
    id,
    type: "range",
    min,
    max,
    step,
    "data-control": key,
    oninput: () => view.set(key, Number(input.value)),
  });
  const shown = make("span.live-value");
  view.each((_, state) => {
    if (Number(input.value) !== state[key]) input.value = state[key];
    shown.textContent = decimals(state[key], digits);
  });
  const tag = `label${role ? `.${role}` : ""}`;
  return make("div.live-control", {}, make(tag, { for: id }, label), input, shown);
};
