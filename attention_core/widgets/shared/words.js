import { make } from "./elements.js";

/**
 * Mark Chinese words with their language, for the right font and the right voice.
 *
 * @type {(text: string) => Node}
 */
export const wordNode = (text) =>
  /[\u3007\u3400-\u9fff\uff00-\uffef]/.test(text)
    ? make("span", { lang: "zh" }, text)
    : document.createTextNode(text);
