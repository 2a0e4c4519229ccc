/** @typedef {number[]} Vector */
/** @typedef {number[][]} Matrix a list of rows */

/** @type {(a: Vector, b: Vector) => number} */
export const dotProduct = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** @type {(a: Vector) => number} */
export const vectorLength = (a) => Math.sqrt(dotProduct(a, a));

/** @type {<T>(m: T[][]) => T[][]} */
export const transpose = (m) => m[0].map((_, j) => m.map((row) => row[j]));

/** @type {(a: Matrix, b: Matrix) => Matrix} */
export const matmul = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dotProduct(row, column)));
};

/** @type {(m: Matrix, factor: number) => Matrix} */
export const scaleMatrix = (m, factor) => m.map((row) => row.map((x) => x * factor));

/**
 * Return the softmax of scores. The largest is subtracted first, so that exp cannot overflow.
 * Where a mask blocks every key, all scores are −∞ and the weights are 0, as in attention_core.
 *
 * @type {(scores: Vector) => Vector}
 */
export const softmax = (scores) => {
  const top = Math.max(...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((s) => Math.exp(s - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
};
