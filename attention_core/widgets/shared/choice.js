import { make } from "./elements.js";
import { wordNode } from "./words.js";

/**
 * Make radio buttons that choose one value of the state.
 *
 * @param {import("./figure.js").View} view
 * @param {string} key
 * @param {{ label: string, options: [any, string][] }} choices each value with its text
 */
export const choiceControl = (view, key, { label, options }) => {
  const name = `${view.id}-${key}`;
  const inputs = options.map(([value, text]) => {
    const input = make("input", {
      type: "radio",
      name,
      value,
      "data-control": key,
      onchange: () => view.set(key, value),
    });
    return { value, input, labelled: make("label", {}, input, make("span", {}, wordNode(text))) };
  });
  view.each((_, state) => {
    for (const { value, input } of inputs) input.checked = value === state[key];
  });
  return make(
    "fieldset.live-choice",
    {},
    make("legend", {}, label),
    inputs.map(({ labelled }) => labelled),
  );
};
