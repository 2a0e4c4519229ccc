import { makeButton } from "./shared/button.js";
import { decimals, make, valueAt } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { sliderControl } from "./shared/slider.js";

const widths = [4, 16, 64, 256, 1024];
const [queries, keys, size] = [1000, 16, 32]; // size: words of 32 coins in the widest vector
const certain = 0.99; // a query that gives one key more than this has chosen

// MurmurHash3's finalizer, of a counter: the same 32 coins as in Python.
const word = (count) => {
  let h = Math.imul(count, 0x9e3779b9);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
};

const ones = (bits) => {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

// A product of two coins is −1 where they differ: q·k is d − 2 · (places where they differ).
// A narrow vector is a prefix of a wide one. Each query's scores are sorted here, once:
// dividing them does not change their order.
/** @type {(seed: number) => Float64Array[][]} */
const toss = (seed) => {
  /** @type {Float64Array[][]} */
  const scores = widths.map(() => []);
  const query = new Int32Array(size);
  let count = seed * queries * (1 + keys) * size + 1;
  for (let n = 0; n < queries; n += 1) {
    for (let j = 0; j < size; j += 1) query[j] = word(count++);
    /** @type {number[][]} */
    const rows = widths.map(() => []);
    for (let key = 0; key < keys; key += 1) {
      let differ = 0;
      let next = 0; // the width that is reached next
      for (let j = 0; j < size; j += 1) {
        const apart = word(count++) ^ query[j];
        for (; widths[next] < 32; next += 1) {
          rows[next].push(widths[next] - 2 * ones(apart & (2 ** widths[next] - 1)));
        }
        differ += ones(apart);
        if (32 * (j + 1) === widths[next]) rows[next].push(widths[next++] - 2 * differ);
      }
    }
    for (const [i, row] of rows.entries()) scores[i].push(Float64Array.from(row).sort().reverse());
  }
  return scores;
};

let tossed = {};
const scoresOf = (seed) => {
  if (tossed.seed !== seed) tossed = { seed, scores: toss(seed) };
  return tossed.scores;
};

const numbers = ({ power, seed }) => ({
  rows: scoresOf(seed).map((rows, i) => {
    const divisor = widths[i] ** power;
    const weights = Array(keys).fill(0);
    const powers = new Float64Array(keys);
    let [total, squares, sure] = [0, 0, 0];
    // 1,000 softmaxes for each width at every input event: plain loops, so that a phone keeps up.
    for (const row of rows) {
      let sum = 0;
      for (let j = 0; j < keys; j += 1) {
        const score = row[j] / divisor;
        total += score;
        squares += score * score;
        powers[j] = Math.exp((row[j] - row[0]) / divisor); // the first score is the largest
        sum += powers[j];
      }
      for (let j = 0; j < keys; j += 1) weights[j] += powers[j] / sum / queries;
      if (powers[0] / sum > certain) sure += 1;
    }
    const n = queries * keys;
    const variance = (squares - total ** 2 / n) / (n - 1);
    return { width: widths[i], divisor, variance, sure, weights };
  }),
});

const say = ({ rows }, { power }) => {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  const [narrow, wide] = [first, last].map((row) => decimals(row.weights[0], 2));
  const ratio = last.variance / first.variance;
  if (ratio > 1.15 && power === 0) {
    return (
      `No division: at width 1024, ${last.sure} of 1,000 queries give one key a weight above ` +
      "0.99. Chance picked that key."
    );
  }
  if (ratio > 1.15) {
    return (
      `The wide rows are still more one-sided: the largest weight is ${wide} at width 1024, ` +
      `and ${narrow} at width 4.`
    );
  }
  if (ratio > 1 / 1.15) {
    return "Here the rows nearly agree. At p = 0.5 each score is divided by the root of its width.";
  }
  return (
    `Too much: now the wide rows are the more even ones. The largest weight is ${wide} at the ` +
    `bottom and ${narrow} at the top.`
  );
};

// A bar cut into the shares; it repeats numbers of the table, so it is hidden from screen readers.
const shareStrip = (view, path, number) => {
  const parts = Array.from({ length: number }, () => make("span"));
  view.each((numbers) => {
    for (const [i, share] of valueAt(numbers, path).entries()) {
      parts[i].style.width = `${100 * share}%`;
    }
  });
  return make("div.live-shares", { "aria-hidden": "true" }, parts);
};

const build = (view) => {
  const [widthName, power] = [["d", make("sub", {}, "k")], make("sup", {}, "p")];
  const columns = [
    ["width ", widthName.map((part) => part.cloneNode?.(true) ?? part)],
    ["divided by ", widthName, power],
    ["16 weights"],
    ["largest"],
  ];
  const rows = widths.map((_, i) => {
    const number = (name, digits, role) => liveNumber(view, `rows.${i}.${name}`, { digits, role });
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, number("width", 0)),
      make("td", {}, number("divisor", 1)),
      make("td", {}, shareStrip(view, `rows.${i}.weights`, keys)),
      make("td", {}, number("weights.0", 2, "weights")),
    );
  });
  const caption = "The largest weight is dark. Weights are means over 1,000 queries of coins.";
  const toss = makeButton("Toss all coins again", () =>
    view.set("seed", (view.get("seed") + 1) % 100),
  );
  toss.dataset.control = "toss";
  const reading = resultSentence(view, say);
  return [
    make("p.live-lead", {}, "p = 0 divides by 1, and p = 1 by the width itself."),
    sliderControl(view, "power", { label: "power p", min: 0, max: 1, step: 0.1, digits: 1 }),
    make(
      "div.live-scroll",
      { tabindex: 0, role: "group", "aria-label": caption },
      make(
        "table.live-rows",
        {},
        make("caption", {}, caption),
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            columns.map((text) => make("th", { scope: "col" }, text.flat())),
          ),
        ),
        make("tbody", {}, rows),
      ),
    ),
    make("p.live-after", {}, toss),
    reading,
  ];
};

const figure = { state: ["power", "seed"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
