import { setAttributes } from "./attributes.js";
import { make } from "./elements.js";

/** @typedef {[number, number]} Pair how far right and how far up */

/**
 * Draw a circle with hands. Angles are in radians, clockwise from the top. `at` returns the tip of
 * a hand; `wedge` returns the angle where a sector starts and the angle that it covers.
 *
 * @param {import("./figure.js").View} view
 * @param {{ hands: { role: string, dashed: boolean, at: (n: any, state: any) => Pair }[],
 *   wedge?: ((numbers: any) => [number, number]) | null, label?: string | null,
 *   names?: [string, string] | null, knob?: number }} options
 */
export const handWheel = (view, options) => {
  const { hands, wedge = null, label = null, names = null, knob = 4 } = options;
  const spot = (/** @type {Pair} */ [right, up], r = 84) => [100 + right * r, 100 - up * r];
  const spoken = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const svg = make("svg.live-wheel", { viewBox: "0 0 200 200", ...spoken });
  const back = make(
    "g.live-back",
    {},
    make("line", { x1: 16, y1: 100, x2: 184, y2: 100 }),
    make("line", { x1: 100, y1: 16, x2: 100, y2: 184 }),
    make("circle", { cx: 100, cy: 100, r: 84 }),
  );
  svg.append(back);
  if (wedge) {
    const area = make("path.wedge");
    svg.append(area);
    view.each((numbers) => {
      const [from, turn] = wedge(numbers);
      const by = Math.min(Math.abs(turn), 2 * Math.PI - 1e-3) * Math.sign(turn);
      const [a, b] = [from, from + by].map((angle) => spot([Math.sin(angle), Math.cos(angle)], 50));
      const [large, sweep] = [Number(Math.abs(by) > Math.PI), Number(by > 0)];
      area.setAttribute("d", `M100,100 L${a} A50,50 0 ${large} ${sweep} ${b} Z`);
    });
  }
  for (const { role, dashed, at } of hands) {
    const hand = make(`line.hand.${role}${dashed ? ".dashed" : ""}`, { x1: 100, y1: 100 });
    const tip = make(`circle.${role}`, { r: knob });
    svg.append(hand, tip);
    view.each((numbers, state) => {
      const end = at(numbers, state);
      hand.style.display = tip.style.display = end ? "" : "none";
      if (!end) return;
      const [x, y] = spot(end);
      setAttributes(hand, { x2: x, y2: y });
      setAttributes(tip, { cx: x, cy: y });
    });
  }
  if (names) {
    svg.append(
      make("text", { x: 200, y: 197, "text-anchor": "end" }, `${names[0]} →`),
      make("text", { x: 0, y: 14 }, `↑ ${names[1]}`),
    );
  }
  return svg;
};
