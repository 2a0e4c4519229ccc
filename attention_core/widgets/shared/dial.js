import { make } from "./elements.js";
import { wholeNumber } from "./whole.js";

/** @typedef {import("./figure.js").State} State */

/**
 * Make a slider over a list of values, which may depend on the state. A value that is not in the
 * list is shown as it is, with the slider at the nearest one. Label and value stand above it.
 *
 * @param {import("./figure.js").View} view
 * @param {string} key
 * @param {{ label: import("./elements.js").Children, values: (state: any) => number[],
 *   set: (value: number, state: State) => void, text?: (state: any) => string }} options
 */
export const dialControl = (view, key, options) => {
  const {
    label,
    values,
    set,
    text = (/** @type {State} */ state) => wholeNumber(state[key]),
  } = options;
  const id = `${view.id}-${key}`;
  const input = make("input", {
    id,
    type: "range",
    min: 0,
    step: 1,
    "data-control": key,
    oninput: () => set(values(view.state())[Number(input.value)], view.state()),
  });
  const shown = make("span.live-value");
  view.each((_, state) => {
    const listed = values(state);
    const away = listed.map((value) => Math.abs(Math.log(value / state[key])));
    input.max = listed.length - 1;
    input.value = away.indexOf(Math.min(...away));
    shown.textContent = text(state);
    input.setAttribute("aria-valuetext", shown.textContent);
  });
  return make("div.live-dial", {}, make("label", { for: id }, label), shown, input);
};
