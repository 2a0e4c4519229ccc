import { pickableCells } from "./shared/cells.js";
import { choiceControl } from "./shared/choice.js";
import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { transpose } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

// The index of a place in memory, in a tensor of this shape in row-major order.
const unravel = (place, shape) =>
  shape.map((size, axis) => Math.floor(place / product(shape.slice(axis + 1))) % size);

const rows = (flat, width) =>
  Array.from({ length: flat.length / width }, (_, i) => flat.slice(i * width, (i + 1) * width));

const numbers = ({ x, num_heads: heads, way, picked }) => {
  const [length, width] = [x.length, x[0].length];
  const part = width / heads;
  const [byWord, byHead] = [
    [length, heads, part],
    [heads, length, part],
  ];
  const places = Array.from({ length: length * width }, (_, place) => place);
  // The place of a cell if all rows of head 0 come first, then all of head 1, and so on.
  const exchanged = ([l, h, c]) => (h * length + l) * part + c;
  const returns = way === "transpose" || way === "stack";
  // For each place in the heads (split), and in the merged table, the place in x it comes from.
  const split = places.map((at) => {
    if (way === "reshape") return at;
    const [h, l, c] = unravel(at, byHead);
    return l * width + h * part + c;
  });
  const back = places.map((at) => (returns ? exchanged(unravel(at, byWord)) : at));
  const merged = back.map((at) => split[at]);
  // For display: row l of head 0, beside it row l of head 1, and so on.
  const side = places.map((at) => split[exchanged(unravel(at, byWord))]);
  // With equal weights each row of a head becomes the mean of its rows: the shares of the words.
  const mixed = places.map((at) => {
    const [h, , c] = unravel(at, byHead);
    const shares = x.map(() => 0);
    for (let l = 0; l < length; l += 1) {
      shares[Math.floor(split[(h * length + l) * part + c] / width)] += 1 / length;
    }
    return shares;
  });
  const heard = rows(
    back.map((at) => mixed[at]),
    width,
  ).map((row) => transpose(row).map((shares) => shares.reduce((a, b) => a + b, 0) / width));
  const station = (shape, order) => {
    const place = order.indexOf(picked);
    return { shape, index: unravel(place, shape), place };
  };
  const none = { shape: [NaN, NaN, NaN], index: [NaN, NaN, NaN], place: NaN };
  const value = x.flat();
  const numbersAt = (order) =>
    rows(
      order.map((place) => value[place]),
      width,
    );
  return {
    x,
    followed: value[picked],
    side: numbersAt(side),
    side_place: rows(side, width),
    merged: numbersAt(merged),
    merged_place: rows(merged, width),
    heard,
    pairs: heard.flat().filter((share) => share > 0).length,
    of_pairs: length * length,
    home: merged.filter((place, at) => place === at).length,
    of_home: length * width,
    path: [
      station([length, width], places),
      way === "transpose" || way === "forgotten" ? station(byWord, places) : none,
      station(byHead, split),
      way === "transpose" ? station(byWord, merged) : none,
      station([length, width], merged),
    ],
  };
};

const list = (words) => {
  const quoted = words.map((word) => `“${word}”`);
  return quoted.length < 2
    ? quoted.join("")
    : `${quoted.slice(0, -1).join(", ")} and ${quoted[quoted.length - 1]}`;
};

const digitsOf = (x) => (x.flat().every(Number.isInteger) ? 0 : 2);

const say = (n, { words, x, num_heads: heads, way }) => {
  const [length, width] = [words.length, x[0].length];
  if (heads === 1)
    return "One head takes whole rows. There is nothing to exchange: all four ways are the same.";
  if (length === 1)
    return "One word alone fills every head. There is nothing to exchange: all four ways are the same.";
  const [start, { index, place }, end] = [n.path[0].place, n.path[2], n.path[4].place];
  const number = decimals(n.followed, digitsOf(x));
  if (way === "reshape") {
    const size = (length * width) / heads;
    const from = index[0] * size;
    const inside = words.filter((_, i) => i * width < from + size && (i + 1) * width > from);
    const missing = words.filter((word) => !inside.includes(word));
    return (
      `Reshape keeps the order of reading: ${number} stays at place ${start}. ` +
      `Head ${index[0]} gets places ${from} to ${from + size - 1}, numbers of ${list(inside)}` +
      `${missing.length ? ` and none of ${list(missing)}` : ""}. ` +
      `Yet every number comes home.`
    );
  }
  const moved =
    place === start
      ? `${number} is among the few that keep their place`
      : `${number} goes from place ${start} to ${place}`;
  if (way === "forgotten") {
    const [own, landed] = [start, end].map((at) => words[Math.floor(at / width)]);
    const fate =
      end === start
        ? `${number} is home by luck`
        : own === landed
          ? `${number} ends in its own row, but in another column`
          : `${number} of “${own}” ends in the row of “${landed}”`;
    return `Each head gets all words, but nothing puts the order back: ${fate}. Still all hear all.`;
  }
  return way === "stack"
    ? `Right, without a transpose: one head behind the other is the same new order. In it ${moved}.`
    : `Each head gets its columns of every word. In the order of reading, ${moved}. ` +
        "The second transpose takes that back, so every number comes home.";
};

const STEPS = {
  transpose: ["x", "view", "transpose", "transpose", "reshape"],
  reshape: ["x", "", "reshape", "", "reshape"],
  stack: ["x", "", "split, cat", "", "split, cat"],
  forgotten: ["x", "view", "transpose", "", "reshape"],
};

// A shape or an index: "(", "3", ", ", "6", ")".
/** @type {(view: import("./shared/figure.js").View, path: string, size: number, ends: string) => (Node | string)[]} */
const tuple = (view, path, size, [open, close]) => {
  const numbers = Array.from({ length: size }, (_, axis) =>
    liveNumber(view, `${path}.${axis}`, { digits: 0 }),
  );
  return [open, ...numbers.flatMap((number, axis) => (axis ? [", ", number] : [number])), close];
};

const steps = (view, digits) => {
  const lines = [2, 3, 3, 3, 2].map((size, k) => {
    const name = make("th", { scope: "row" });
    const line = make(
      "tr",
      {},
      name,
      make("td", {}, tuple(view, `path.${k}.shape`, size, "()")),
      make("td", {}, tuple(view, `path.${k}.index`, size, "[]")),
      make("td", {}, liveNumber(view, `path.${k}.place`, { digits: 0 })),
    );
    view.each((_, { way }) => {
      name.textContent = STEPS[way][k];
      line.hidden = !STEPS[way][k];
    });
    return line;
  });
  const followed = liveNumber(view, "followed", { digits });
  const heads = [["step"], ["shape"], ["index of ", followed], ["place"]];
  const top = make(
    "tr",
    {},
    heads.map((parts) => make("th", { scope: "col" }, parts)),
  );
  const table = make("table.live-steps", {}, make("thead", {}, top), make("tbody", {}, lines));
  return make("div.live-steps-place", {}, table);
};

const build = (view) => {
  const { words, x } = view.state();
  const width = x[0].length;
  const digits = digitsOf(x);
  const columns = x[0].map((_, j) => String(j));
  const headOf = (column, heads) => Math.floor((column * heads) / width);
  // A number keeps the colour of the head that its column of x belongs to, wherever it goes.
  const paint =
    (placeOf) =>
    (n, { num_heads: heads, picked }, i, j) => {
      const place = placeOf(n, i, j);
      return {
        level: heads === 1 ? 0 : (1.8 * headOf(place % width, heads)) / (heads - 1) - 0.9,
        marks: {
          picked: place === picked,
          astray: Math.floor(place / width) !== i,
          seam: j > 0 && headOf(j, heads) !== headOf(j - 1, heads),
        },
      };
    };
  const table = (path, placeOf, options) =>
    pickableCells(view, { path, rows: words, columns, digits, paint: paint(placeOf), ...options });
  const bands = ({ num_heads: heads }) =>
    Array.from({ length: heads }, (_, head) => [String(head), width / heads]);
  const counted = (what, part, whole) => [
    `${what}: `,
    liveNumber(view, part, { digits: 0 }),
    " of ",
    liveNumber(view, whole, { digits: 0 }),
  ];
  const tokens = table("x", (_, i, j) => i * width + j, {
    caption: "The table x, with its columns for each head",
    shown: "",
    corner: "x, for head",
    bands,
    pick: (i, j) => view.set("picked", i * width + j),
    picked: ({ picked }) => [Math.floor(picked / width), picked % width],
  });
  const side = table("side", (n, i, j) => n.side_place[i][j], {
    caption: "What each head gets, the heads side by side",
    shown: "",
    corner: "in head",
    bands,
  });
  const merged = table("merged", (n, i, j) => n.merged_place[i][j], {
    caption: "Put together again: numbers that come home",
    shown: counted("check 1, home", "home", "of_home"),
    corner: "",
  });
  const heard = pickableCells(view, {
    path: "heard",
    rows: words,
    columns: words,
    digits: 2,
    corner: "",
    caption: "Who hears whom, with equal weights: pairs that hear each other",
    shown: counted("check 2, hear", "pairs", "of_pairs"),
    paint: (n, _, i, j) => ({ role: "weights", level: n.heard[i][j] }),
  });
  const divisors = columns.map((_, j) => j + 1).filter((heads) => width % heads === 0);
  return [
    make(
      "p.live-lead",
      {},
      "Choose “reshape”: which word does head 0 lose? Click a number to follow it. " +
        "Dashed: a number in another word's row.",
    ),
    choiceControl(view, "way", {
      label: "way",
      options: [
        ["transpose", "transpose"],
        ["reshape", "reshape"],
        ["stack", "split, cat"],
        ["forgotten", "one transpose"],
      ],
    }),
    choiceControl(view, "num_heads", {
      label: "heads",
      options: divisors.map((n) => [n, String(n)]),
    }),
    make("div.live-split", {}, tokens, side, merged, heard),
    resultSentence(view, say),
    make(
      "details.live-more",
      {},
      make("summary", {}, "The picked number, step by step"),
      steps(view, digits),
    ),
  ];
};

const structure = ({ words, x }) => [words, x[0].length];
const figure = { state: ["words", "x", "num_heads", "way", "picked"], structure, numbers, build };
export default { ...figure, render: renderFigure(figure) };
