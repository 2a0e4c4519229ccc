import { make } from "./elements.js";

/**
 * @typedef {object} Plane a drawing of a plane with the origin in its middle
 * @property {SVGSVGElement} svg
 * @property {number} size the length of its sides, in SVG units
 * @property {number} reach the coordinate at its edge
 * @property {(point: number[]) => number[]} to from coordinates to SVG units
 * @property {(event: PointerEvent) => [number, number]} from from a pointer event to coordinates
 */

/** @type {(options: { reach: number, label: string }) => Plane} */
export const vectorPlane = ({ reach, label }) => {
  const size = 320;
  const unit = size / (2 * reach);
  const to = (/** @type {number[]} */ [x, y]) => [size / 2 + x * unit, size / 2 - y * unit];
  const svg = make("svg.live-plane", {
    viewBox: `0 0 ${size} ${size}`,
    role: "group",
    "aria-label": label,
  });
  const back = make("g.live-back", { "aria-hidden": "true" });
  for (let n = -reach; n <= reach; n += 1) {
    const [x, y] = to([n, n]);
    const axis = n === 0 ? "line.axis" : "line";
    back.append(
      make(axis, { x1: x, y1: 0, x2: x, y2: size }),
      make(axis, { x1: 0, y1: y, x2: size, y2: y }),
    );
  }
  svg.append(back);
  const from = (/** @type {PointerEvent} */ { clientX, clientY }) => {
    const box = svg.getBoundingClientRect();
    return /** @type {[number, number]} */ ([
      ((clientX - box.left) / box.width - 0.5) * 2 * reach,
      (0.5 - (clientY - box.top) / box.height) * 2 * reach,
    ]);
  };
  return { svg, size, reach, to, from };
};
