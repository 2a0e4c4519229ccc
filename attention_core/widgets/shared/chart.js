import { setAttributes } from "./attributes.js";
import { decimals, make, valueAt } from "./elements.js";

/**
 * Plot numbers at x = 0, 1, 2, ... as a line. The y axis goes from −most to most, where `most` is
 * a number or the path of one. `mark` returns the index of the number to mark.
 *
 * @param {import("./figure.js").View} view
 * @param {{ path: string, role: string, most: number | string, mark: (state: any) => number,
 *   label: string, across: string }} options
 */
export const lineChart = (view, { path, role, most, mark, label, across }) => {
  const [left, right, top, bottom] = [30, 312, 10, 122];
  const svg = make("svg.live-chart", {
    viewBox: "0 0 320 142",
    role: "img",
    "aria-label": label,
  });
  const axis = make("line.axis", { x1: left, x2: right });
  const rule = make("line.rule", { y1: top, y2: bottom });
  const line = make(`path.${role}`);
  const dots = make(`path.${role}.dots`);
  const knob = make(`circle.${role}`, { r: 5 });
  const tick = (attributes = {}) => make("text", { "text-anchor": "end", ...attributes });
  const high = tick(typeof most === "string" ? { "data-key": most, "data-digits": 0 } : {});
  const [zero, low, last] = [tick(), tick(), tick()];
  const middle = { x: (left + right) / 2, y: 138, "text-anchor": "middle" };
  svg.append(
    make("g.live-back", {}, axis),
    rule,
    line,
    dots,
    knob,
    high,
    zero,
    low,
    last,
    make("text", { x: left, y: 138 }, "0"),
    make("text", middle, across),
  );
  view.each((numbers, state) => {
    /** @type {number[]} */
    const values = valueAt(numbers, path);
    /** @type {number} */
    const to = typeof most === "string" ? valueAt(numbers, most) : most;
    const x = (/** @type {number} */ i) => left + ((right - left) * i) / (values.length - 1);
    const y = (/** @type {number} */ value) => bottom - ((bottom - top) * (value + to)) / (2 * to);
    const points = values.map((value, i) => `${x(i).toFixed(2)},${y(value).toFixed(2)}`);
    setAttributes(line, { d: `M${points.join(" L")}` });
    setAttributes(dots, { d: points.map((point) => `M${point} h0`).join(" ") });
    const at = mark(state);
    setAttributes(rule, { x1: x(at), x2: x(at) });
    setAttributes(knob, { cx: x(at), cy: y(values[at]) });
    setAttributes(axis, { y1: y(0), y2: y(0) });
    for (const [text, value] of [
      [high, to],
      [zero, 0],
      [low, -to],
    ]) {
      setAttributes(text, { x: left - 6, y: y(value) + 4 });
      text.textContent = decimals(value, 0);
    }
    setAttributes(last, { x: right, y: 138 });
    last.textContent = values.length - 1;
  });
  return svg;
};
