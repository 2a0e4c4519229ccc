import { setAttributes } from "./attributes.js";
import { dragGrip } from "./drag.js";
import { decimals, make, valueAt } from "./elements.js";
import { vectorLength } from "./math.js";
import { liveNumber } from "./numbers.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {import("./plane.js").Plane} Plane */

/**
 * Draw arrows from the origin that cannot be dragged; the first is drawn stronger. Their names
 * stand beyond the tips or beside them, so that two sets of arrows on one line stay legible.
 *
 * @param {View} view
 * @param {Plane} plane
 * @param {{ role: string, tips: (numbers: any) => number[][], names: string[],
 *   offset?: string }} options
 */
export const drawArrows = (view, plane, { role, tips, names, offset = "beyond" }) => {
  const { svg, size, to } = plane;
  const [ox, oy] = to([0, 0]);
  names.forEach((name, i) => {
    const strong = i === 0 ? "strong" : "weak";
    const shaft = make(`line.arrow.${role}.${strong}`, { "aria-hidden": "true" });
    const head = make(`polygon.arrow.${role}`, { "aria-hidden": "true" });
    const text = make(`text.${role}.${strong}`, { "aria-hidden": "true" }, name);
    svg.append(shaft, head, text);
    view.each((numbers) => {
      const [x, y] = to(tips(numbers)[i]);
      const length = Math.hypot(x - ox, y - oy);
      const [ux, uy] = length ? [(x - ox) / length, (y - oy) / length] : [0, -1];
      const [back, half] = [Math.min(length, 12), i === 0 ? 6 : 4.5];
      setAttributes(shaft, { x1: ox, y1: oy, x2: x - ux * back, y2: y - uy * back });
      const [bx, by] = [x - ux * 12, y - uy * 12];
      const corners = [
        [x, y],
        [bx - uy * half, by + ux * half],
        [bx + uy * half, by - ux * half],
      ];
      head.setAttribute("points", corners.join(" "));
      head.style.display = length > 12 ? "" : "none";
      const [along, aside] = offset === "beyond" ? [18, 0] : [0, i === 0 ? 22 : 16];
      const inside = (/** @type {number} */ value) => Math.min(size - 12, Math.max(12, value));
      text.setAttribute("x", inside(x + ux * along - uy * aside));
      text.setAttribute("y", inside(y + uy * along + ux * aside));
    });
  });
};

/**
 * Make a tip that can be dragged anywhere, or moved by arrow keys: left and right turn it around
 * the origin, up and down change its length. Angles snap to 5 degrees, lengths to 0.1.
 *
 * @param {View} view
 * @param {Plane} plane
 * @param {{ longest?: number, role: string, control: string, label: string,
 *   tip: (numbers: any) => number[], move: (to: number[]) => void }} options
 */
export const turningTip = (view, plane, options) => {
  const { longest = plane.reach, role, control, label, tip, move } = options;
  let [angle, length] = [0, 0]; // in degrees from the right, anticlockwise
  const place = (/** @type {number} */ degrees, /** @type {number} */ size) => {
    // Snap, and round the coordinates: at 90 degrees x is 0, not 6e-17.
    const radians = (Math.round(degrees / 5) * 5 * Math.PI) / 180;
    const n = Math.min(longest, Math.max(0, Math.round(size * 10) / 10));
    const tidy = (/** @type {number} */ value) => Number((value * n).toFixed(12));
    move([tidy(Math.cos(radians)), tidy(Math.sin(radians))]);
  };
  const grip = dragGrip(plane, {
    role,
    control,
    label,
    least: -180,
    most: 180,
    size: 20,
    drag: (x, y) => place((Math.atan2(y, x) * 180) / Math.PI, Math.hypot(x, y)),
    step: (right, up, far) => {
      const [turn, stretch] = far ? [45, 1] : [5, 0.1];
      place(angle - right * turn, length + up * stretch);
    },
  });
  view.each((numbers) => {
    const at = tip(numbers);
    length = vectorLength(at);
    // A tip at the origin has no angle: keep the last one.
    if (length > 1e-9) angle = (Math.atan2(at[1], at[0]) * 180) / Math.PI;
    const [x, y] = plane.to(at);
    const whole = Math.round(angle);
    grip.put(x, y, whole, `${whole} degrees, length ${decimals(length, 1)}`);
  });
};

/**
 * Make a table cell shaded by a share between 0 and 1, with another number below it.
 *
 * @param {View} view
 * @param {{ path: string, role?: string, small?: string | null, digits?: number }} options
 */
export const shadedCell = (view, { path, role = "weights", small = null, digits = 2 }) => {
  const cell = make(
    "td.live-shaded",
    {},
    liveNumber(view, path, { digits }),
    small && make("small", {}, liveNumber(view, small, { digits })),
  );
  view.each((numbers) => {
    const share = Math.round(40 * Math.min(1, Math.abs(valueAt(numbers, path))));
    cell.style.background = `color-mix(in srgb, var(--live-${role}) ${share}%, transparent)`;
  });
  return cell;
};
