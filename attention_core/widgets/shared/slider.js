import { decimals, make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Put a number below the place of a slider's track where it lies, as a share of the track.
 *
 * @param {HTMLElement} input
 * @param {number} mark
 * @param {number} share
 */
const marked = (input, mark, share) =>
  make(
    "span.live-marked",
    {},
    input,
    make("span", { "aria-hidden": "true", style: `--share: ${share}` }, String(mark)),
  );

/**
 * Make a slider for one number of the state, with the label before it and the value after it.
 * `mark` is a number that the slider shows below its track.
 *
 * @param {View} view
 * @param {string} key
 * @param {{ label: string, min: number, max: number, step: number, digits?: number,
 *   role?: string | null, mark?: number }} options
 */
export const sliderControl = (view, key, options) => {
  const { label, min, max, step, digits = 2, role = null, mark } = options;
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
  return make(
    "div.live-control",
    {},
    make(tag, { for: id }, label),
    mark === undefined ? input : marked(input, mark, (mark - min) / (max - min)),
    shown,
  );
};
