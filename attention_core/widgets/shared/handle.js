import { setAttributes } from "./attributes.js";
import { dragGrip } from "./drag.js";
import { decimals, make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {import("./plane.js").Plane} Plane */

/**
 * Draw a line between two points of a plane; hide it where `ends` returns null.
 *
 * @param {View} view
 * @param {Plane} plane
 * @param {string} name
 * @param {(numbers: any) => number[][] | null} ends
 */
export const planeLine = (view, plane, name, ends) => {
  const line = make(`line.${name}`, { "aria-hidden": "true" });
  plane.svg.append(line);
  view.each((numbers) => {
    const points = ends(numbers);
    line.style.display = points ? "" : "none";
    if (!points) return;
    const [[x1, y1], [x2, y2]] = points.map(plane.to);
    setAttributes(line, { x1, y1, x2, y2 });
  });
};

/**
 * Draw an arrow from the origin whose tip can be dragged, or moved by arrow keys.
 *
 * @param {View} view
 * @param {Plane} plane
 * @param {string} key the trait that holds the tip
 * @param {{ role: string, name: string, step?: number }} options
 */
export const vectorHandle = (view, plane, key, { role, name, step = 0.1 }) => {
  const { svg, size, reach, to } = plane;
  const shaft = make(`line.arrow.${role}`, { "aria-hidden": "true" });
  const head = make(`polygon.arrow.${role}`, { "aria-hidden": "true" });
  const text = make(`text.${role}`, { "aria-hidden": "true" }, name);
  svg.append(shaft, head, text);
  const round = (/** @type {number} */ value) => {
    const snapped = Number((Math.round(value / step) * step).toFixed(4));
    return Math.min(reach, Math.max(-reach, snapped));
  };
  const move = (/** @type {number} */ x, /** @type {number} */ y) =>
    view.set(key, [round(x), round(y)]);
  const grip = dragGrip(plane, {
    role,
    control: key,
    label: `tip of ${name}, arrow keys move it`,
    least: -reach,
    most: reach,
    size: 22,
    drag: move,
    step: (right, up, far) => {
      const by = far ? 1 : step;
      const [x, y] = view.get(key);
      move(x + by * right, y + by * up);
    },
  });
  view.each((_, state) => {
    const [x, y] = to(state[key]);
    const [ox, oy] = to([0, 0]);
    const length = Math.hypot(x - ox, y - oy);
    const [ux, uy] = length ? [(x - ox) / length, (y - oy) / length] : [0, 0];
    const back = Math.min(length, 12);
    setAttributes(shaft, { x1: ox, y1: oy, x2: x - ux * back, y2: y - uy * back });
    const [bx, by] = [x - ux * 14, y - uy * 14];
    const corners = [
      [x, y],
      [bx - uy * 6, by + ux * 6],
      [bx + uy * 6, by - ux * 6],
    ];
    head.setAttribute("points", corners.join(" "));
    head.style.display = length > 14 ? "" : "none";
    text.setAttribute("x", Math.min(size - 14, Math.max(14, x + (ux >= 0 ? 12 : -22))));
    text.setAttribute("y", Math.min(size - 6, Math.max(16, y - 10)));
    const [right, high] = state[key];
    grip.put(x, y, right, `${decimals(right, 1)} right, ${decimals(high, 1)} up`);
  });
};
