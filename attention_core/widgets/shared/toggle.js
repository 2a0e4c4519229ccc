import { make } from "./elements.js";

/** @type {(view: import("./figure.js").View, key: string, options: { label: import("./elements.js").Children }) => HTMLElement} */
export const toggleControl = (view, key, { label }) => {
  const id = `${view.id}-${key}`;
  const input = make("input", {
    id,
    type: "checkbox",
    "data-control": key,
    onchange: () => view.set(key, input.checked),
  });
  view.each((_, state) => {
    input.checked = state[key];
  });
  return make("div.live-control", {}, input, make("label", { for: id }, label));
};
