import { make } from "./elements.js";

/** @type {(label: import("./elements.js").Children, press: () => void) => HTMLButtonElement} */
export const makeButton = (label, press) =>
  make("button.live-button", { type: "button", onclick: press }, label);
