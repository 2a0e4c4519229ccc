import { decimals, make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */

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
