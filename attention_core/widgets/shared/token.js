import { decimals, make, valueAt } from "./elements.js";
import { liveNumber } from "./numbers.js";

/** @typedef {import("./figure.js").View} View */

/**
 * Make a slider for one number of a list, without a visible label.
 *
 * @param {View} view
 * @param {string} key
 * @param {number} index
 * @param {{ label: string, min: number, max: number, step: number }} options
 */
export const entrySlider = (view, key, index, { label, min, max, step }) => {
  const change = (/** @type {number} */ x, /** @type {number} */ i) =>
    i === index ? Number(input.value) : x;
  const input = make("input.live-entry", {
    type: "range",
    min,
    max,
    step,
    "aria-label": label,
    "data-control": key,
    oninput: () => view.set(key, view.get(key).map(change)),
  });
  view.each((_, state) => {
    if (Number(input.value) !== state[key][index]) input.value = state[key][index];
  });
  return input;
};

/**
 * Make a table cell with a bar to the left or right of its middle. At `reach` it fills its half.
 *
 * @param {View} view
 * @param {string} path
 * @param {{ reach: number, digits?: number }} options
 */
export const signedBarCell = (view, path, { reach, digits = 4 }) => {
  const number = liveNumber(view, path, { digits });
  const cell = make("td.live-signed", {}, make("div", {}, make("i"), number));
  view.each((numbers) => {
    const share = Math.max(-1, Math.min(1, valueAt(numbers, path) / reach));
    cell.style.setProperty("--from", `${50 + 50 * Math.min(0, share)}%`);
    cell.style.setProperty("--to", `${50 + 50 * Math.max(0, share)}%`);
  });
  return cell;
};

/**
 * Draw small bars, one group for each row of numbers, all to the scale of the largest number.
 *
 * @param {View} view
 * @param {(numbers: any) => number[][]} rows
 * @param {{ label: string, width?: number, height?: number }} options
 */
export const smallBars = (view, rows, { label, width = 9, height = 30 }) => {
  const svg = make("svg.live-bars", { role: "img" });
  view.each((numbers) => {
    const found = rows(numbers);
    const top = Math.max(...found.flat().map(Math.abs)) || 1;
    const wide = found.map((row) => row.length * (width + 3));
    const total = wide.reduce((a, b) => a + b + 8, -11);
    const said = found.map((row) => row.map((x) => decimals(x, 2)).join(", "));
    svg.setAttribute("viewBox", `0 0 ${total} ${height}`);
    svg.setAttribute("aria-label", `${label}: ${said.join("; ")}`);
    let left = 0;
    const groups = found.map((row, i) => {
      const group = make(`g.row-${i}`);
      row.forEach((value, j) => {
        const high = Math.max(0.75, (Math.abs(value) / top) * (height / 2));
        const y = value < 0 ? height / 2 : height / 2 - high;
        group.append(make("rect", { x: left + j * (width + 3), y, width, height: high }));
      });
      left += wide[i] + 8;
      return group;
    });
    const zero = make("line", { x1: 0, y1: height / 2, x2: total, y2: height / 2 });
    svg.replaceChildren(zero, ...groups);
  });
  return svg;
};
