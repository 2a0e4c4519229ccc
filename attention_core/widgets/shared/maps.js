// Attention weights as small pictures, and as lines between two columns of tokens.

import { setAttributes } from "./attributes.js";
import { make } from "./elements.js";

/** @typedef {import("./figure.js").View} View */
/** @typedef {number[][]} Weights a row for each query, a column for each key */

/** The height of a token in SVG units, 16 of them for a rem: larger text makes it higher. */
const PITCH = 26;

// Eight shades: cells of about the same weight share one path.
const SHADES = 8;

/**
 * Draw each weight with `draw`; return the paths of all shades from 0 to 1.
 *
 * @type {(weights: Weights, draw: (i: number, j: number) => string) => [string, number][]}
 */
const shades = (weights, draw) => {
  const paths = Array(SHADES + 1).fill("");
  for (const [i, row] of weights.entries()) {
    for (const [j, w] of row.entries()) {
      paths[Math.ceil(Math.min(1, w) * SHADES - 0.5)] += draw(i, j);
    }
  }
  return paths.map((d, n) => [d, n / SHADES]);
};

/**
 * Draw weights as a picture without numbers, again whenever `weightsOf` returns others. Where it
 * returns null, the picture is empty.
 *
 * @type {(view: View, weightsOf: (state: any) => Weights | null) => SVGSVGElement}
 */
export const mapPicture = (view, weightsOf) => {
  const picture = make("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
  /** @type {Weights | null | undefined} */
  let drawn;
  view.each((_, state) => {
    const weights = weightsOf(state);
    if (drawn === weights) return;
    drawn = weights;
    if (!weights) return picture.replaceChildren();
    picture.setAttribute("viewBox", `0 0 ${weights[0].length} ${weights.length}`);
    picture.replaceChildren(
      ...shades(weights, (i, j) => `M${j} ${i}h1v1h-1z`)
        .filter(([d, share]) => d && share)
        .map(([d, share]) => make("path", { d, "fill-opacity": share })),
    );
  });
  return picture;
};

/**
 * Draw lines from the tokens on the left to those on the right: faint ones for all weights, and
 * strong ones for those of the picked token.
 *
 * @param {View} view
 * @param {{ queries: number, keys: number, weightsOf: (state: any) => Weights | null,
 *   picked: (numbers: any, state: any) => { side: string, at: number, shares: number[] } }} options
 *   `picked` returns the token, "query" on the left or "key" on the right, and its weights
 * @returns {SVGSVGElement}
 */
export const mapLines = (view, { queries, keys, weightsOf, picked }) => {
  const rows = Math.max(queries, keys);
  const height = (/** @type {number} */ n, /** @type {number} */ size) =>
    (n + 0.5 + (rows - size) / 2) * PITCH;
  const faint = make("g.faint");
  const strong = Array.from({ length: rows }, () => make("line.strong"));
  /** @type {Weights | null | undefined} */
  let drawn;
  view.each((numbers, state) => {
    const weights = weightsOf(state);
    if (weights !== drawn) {
      drawn = weights;
      const ends = (/** @type {number} */ i, /** @type {number} */ j) =>
        `M0 ${height(i, queries)}L100 ${height(j, keys)}`;
      const paths = shades(weights ?? [], ends).slice(1);
      faint.replaceChildren(
        ...paths.map(([d, share]) => make("path", { d, "stroke-opacity": 0.5 * share })),
      );
    }
    const { side, at, shares } = picked(numbers, state);
    strong.forEach((line, other) => {
      const w = shares[other] ?? 0;
      line.style.display = w >= 0.005 ? "" : "none";
      const [left, right] = side === "query" ? [at, other] : [other, at];
      setAttributes(line, { x1: 0, y1: height(left, queries), x2: 100, y2: height(right, keys) });
      line.setAttribute("stroke-width", 1 + 6 * Math.min(1, w));
      line.setAttribute("stroke-opacity", 0.25 + 0.75 * Math.min(1, w));
    });
  });
  return make(
    "svg.live-lines",
    { viewBox: `0 0 100 ${rows * PITCH}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    faint,
    strong,
  );
};

/** The style of the box around two columns of tokens and the lines between them. */
export const mapHeight = (/** @type {number} */ rows) => `--height:${(rows * PITCH) / 16}rem`;
