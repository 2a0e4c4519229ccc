import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { matmul, scaleMatrix, transpose, vectorLength } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { sliderControl } from "./shared/slider.js";
import { smallBars } from "./shared/token.js";

const JOINS = ["f(x)", "norm(f(x))", "x + f(x)", "norm(x + f(x))", "x + f(norm(x))"];
const WEIGHTS = [
  [0.75, 0.25],
  [0.25, 0.75],
];
const mean = (a) => a.reduce((sum, x) => sum + x, 0) / a.length;
const add = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));

const size = (tokens) => Math.sqrt(mean(tokens.flat().map((x) => x * x)));
const spread = (tokens) => {
  const middle = transpose(tokens).map(mean);
  const apart = tokens.map((token) => token.map((x, j) => x - middle[j]));
  return vectorLength(apart.flat()) / vectorLength(tokens.flat());
};

// A place in a stack: both tokens, and how far each of their numbers moves if the start is moved.
const norm = ({ at, moved }) => {
  const root = at.map((a) => Math.sqrt(mean(a.map((x) => (x - mean(a)) ** 2)) + 1e-5));
  const normed = at.map((a, i) => a.map((x) => (x - mean(a)) / root[i]));
  const moves = moved.map((m, i) => {
    const along = mean(m.map((x, j) => x * normed[i][j]));
    return m.map((x, j) => (x - mean(m) - along * normed[i][j]) / root[i]);
  });
  return { at: normed, moved: moves };
};
const plus = (a, b) => ({ at: add(a.at, b.at), moved: add(a.moved, b.moved) });

const numbers = ({ tokens, offset, strength, parts }) => {
  const mix = (x) => scaleMatrix(matmul(WEIGHTS, x), strength);
  const f = ({ at, moved }) => ({ at: mix(at), moved: mix(moved) });
  const joins = {
    "f(x)": f,
    "norm(f(x))": (x) => norm(f(x)),
    "x + f(x)": (x) => plus(x, f(x)),
    "norm(x + f(x))": (x) => norm(plus(x, f(x))),
    "x + f(norm(x))": (x) => plus(x, f(norm(x))),
  };
  const start = tokens.map((token) => token.map((x) => x + offset));
  const push = tokens.map((token) => token.map((_, j) => (j ? 0 : 1)));
  const ends = JOINS.map((name) => {
    let place = { at: start, moved: push };
    for (let part = 0; part < parts; part += 1) place = joins[name](place);
    return place;
  });
  const streams = [start, ...ends.map((end) => end.at)];
  return {
    streams,
    size: streams.map(size),
    spread: streams.map(spread),
    slope: ends.map((end) => vectorLength(end.moved.flat()) / vectorLength(push.flat())),
  };
};

const say = ({ size, spread, slope }, { strength, parts, offset }) => {
  const after = parts === 1 ? "1 part" : `${parts} parts`;
  if (!strength)
    return "At strength 0 f gives only zeros. Without the plus nothing is left; with it, the slope of the bare sum is 1.";
  const slopes = `After ${after} the slope is ${decimals(slope[0], 4)} without the plus and ${decimals(slope[2], 4)} with it.`;
  if (!offset)
    return `${slopes} The bare sum has size ${decimals(size[3], 1)}, post-norm ${decimals(size[4], 1)}.`;
  const [bare, post] = [decimals(spread[3], 3), decimals(spread[4], 3)];
  return `${slopes} With the offset, the spread of the bare sum is ${bare}, that of post-norm ${post}.`;
};

const build = (view) => {
  const cell = (path, options) => make("td", {}, liveNumber(view, path, options));
  const head = (label) => make("th", { scope: "col" }, label);
  const names = ["start", ...JOINS];
  const notes = { "norm(x + f(x))": "post-norm", "x + f(norm(x))": "pre-norm" };
  const row = (name, i) =>
    make(
      "tr",
      {},
      make(
        "th",
        { scope: "row" },
        [name.replace(" + ", "+")],
        notes[name] && make("small", {}, notes[name]),
      ),
      make(
        "td",
        {},
        smallBars(view, (n) => n.streams[i], { label: `${name}: first token; second token` }),
      ),
      cell(`size.${i}`, { digits: 1 }),
      cell(`spread.${i}`, { digits: 3 }),
      i ? cell(`slope.${i - 1}`) : make("td", {}, "–"),
    );
  const stacks = make(
    "table.live-list.live-stacks",
    {},
    make("thead", {}, make("tr", {}, ["", "tokens", "size", "spread", "slope"].map(head))),
    make("tbody", {}, names.map(row)),
  );
  return [
    make("p.live-lead", {}, "Which slope fades, which explodes? Then set the strength to −0.5."),
    sliderControl(view, "parts", { label: "parts", min: 1, max: 12, step: 1, digits: 0 }),
    sliderControl(view, "strength", { label: "strength", min: -0.5, max: 0.5, step: 0.05 }),
    sliderControl(view, "offset", { label: "offset", min: 0, max: 5, step: 0.5, digits: 1 }),
    make(
      "div.live-scroll",
      { tabindex: 0, role: "group", "aria-label": "Both tokens after all parts" },
      stacks,
    ),
    resultSentence(view, say),
  ];
};

const figure = { state: ["tokens", "offset", "strength", "parts"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
