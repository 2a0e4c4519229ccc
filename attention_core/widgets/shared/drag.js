import { setAttributes } from "./attributes.js";
import { make } from "./elements.js";
import { arrowOf } from "./keys.js";

/** @typedef {import("./plane.js").Plane} Plane */

/**
 * Make a point of a plane that can be dragged, or moved by arrow keys. `drag` gets the coordinates
 * of the pointer in the plane; `step` gets the direction of an arrow key and whether Shift is held.
 *
 * @param {Plane} plane
 * @param {{ role: string, control: string, label: string, least: number, most: number,
 *   size: number, drag: (x: number, y: number) => void,
 *   step: (right: number, up: number, far: boolean) => void }} options
 */
export const dragGrip = (plane, { role, control, label, least, most, size, drag, step }) => {
  const halo = make("circle.halo", { r: size });
  const knob = make(`circle.knob.${role}`, { r: 7 });
  const attributes = {
    tabindex: 0,
    role: "slider",
    "data-control": control,
    "aria-label": label,
    "aria-valuemin": least,
    "aria-valuemax": most,
  };
  const grip = make("g.live-grip", attributes, halo, knob);
  const follow = (/** @type {PointerEvent} */ event) => drag(...plane.from(event));
  // A touch that begins here drags the point and does not scroll the page. (Browsers ignore
  // touch-action on the elements of an SVG.)
  const hold = (/** @type {Event} */ event) => event.preventDefault();
  grip.addEventListener("touchstart", hold, { passive: false });
  grip.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    event.preventDefault();
    grip.focus();
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", follow);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    grip.addEventListener(end, () => grip.removeEventListener("pointermove", follow));
  }
  grip.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const arrow = arrowOf(event);
    if (!arrow) return;
    event.preventDefault();
    step(...arrow, event.shiftKey);
  });
  plane.svg.append(grip);
  return {
    /** @type {(x: number, y: number, value: number, text: string) => void} */
    put: (x, y, value, text) => {
      for (const circle of [halo, knob]) setAttributes(circle, { cx: x, cy: y });
      setAttributes(grip, { "aria-valuenow": value, "aria-valuetext": text });
    },
  };
};
