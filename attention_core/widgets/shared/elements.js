import { setAttributes } from "./attributes.js";

/** @typedef {Node | string | null | undefined | false} Child text or an element, never markup */
/** @typedef {Child | Child[] | Child[][]} Children */

const SVG_TAGS = new Set(["svg", "g", "path", "line", "circle", "rect", "text", "polygon"]);

/**
 * Write a number with fixed decimals. Zero has no sign, and an undefined number is a dash.
 *
 * @type {(value: number, digits?: number) => string}
 */
export const decimals = (value, digits = 4) => {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  let text = value.toFixed(digits);
  // A tie, such as 0.125 with two digits: toFixed rounds away from zero, Python to even.
  const exact = value.toFixed(digits + 30);
  if (/^50*$/.test(exact.slice(-30))) {
    const cut = exact.slice(0, -30).replace(/\.$/, "");
    if (Number(cut.at(-1)) % 2 === 0) text = cut;
  }
  return Number(text) === 0 ? text.replace("-", "") : text;
};

/**
 * Follow a path such as "weights.0.3" through nested numbers.
 *
 * @type {(tree: any, path: string) => any}
 */
export const valueAt = (tree, path) => path.split(".").reduce((node, key) => node[key], tree);

/**
 * Make an element from its name and classes, its attributes and its children, for example
 * make("p.note", {}, "text"). Children are text or elements, never markup, so a token like <b>
 * stays a token. A function becomes an event listener: {onclick: press}.
 *
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...Children} children
 * @returns {any} an HTML or an SVG element
 */
export const make = (name, attributes = {}, ...children) => {
  const [tag, ...classes] = name.split(".");
  const element = SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else setAttributes(element, { [key]: value });
  }
  for (const child of children.flat(2)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
};
