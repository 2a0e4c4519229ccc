import { makeButton } from "./shared/button.js";
import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { matmul, scaleMatrix, transpose, vectorLength } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { sliderControl } from "./shared/slider.js";
import { entrySlider, signedBarCell, smallBars } from "./shared/token.js";

const JOINS = ["f(x)", "norm(f(x))", "x + f(x)", "norm(x + f(x))", "x + f(norm(x))"];
const mean = (a) => a.reduce((sum, x) => sum + x, 0) / a.length;
const variance = (a) => mean(a.map((x) => (x - mean(a)) ** 2));
const norm = (a) => a.map((x) => (x - mean(a)) / Math.sqrt(variance(a) + 1e-5));
const add = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));

const size = (tokens) => Math.sqrt(mean(tokens.flat().map((x) => x * x)));
const spread = (tokens) => {
  const middle = transpose(tokens).map(mean);
  const apart = tokens.map((token) => token.map((x, j) => x - middle[j]));
  return vectorLength(apart.flat()) / vectorLength(tokens.flat());
};

const numbers = ({ x, other, strength, layers }) => {
  const f = (tokens) =>
    scaleMatrix(
      matmul(
        [
          [0.75, 0.25],
          [0.25, 0.75],
        ],
        tokens,
      ),
      strength,
    );
  const joins = {
    "f(x)": (t) => f(t),
    "norm(f(x))": (t) => f(t).map(norm),
    "x + f(x)": (t) => add(t, f(t)),
    "norm(x + f(x))": (t) => add(t, f(t)).map(norm),
    "x + f(norm(x))": (t) => add(t, f(t.map(norm))),
  };
  const streams = [[x, other]];
  for (const name of JOINS) {
    let tokens = [x, other];
    for (let layer = 0; layer < layers; layer += 1) tokens = joins[name](tokens);
    streams.push(tokens);
  }
  const normed = norm(x);
  return {
    x,
    normed,
    mean: mean(x),
    variance: variance(x),
    normed_mean: mean(normed),
    normed_variance: variance(normed),
    streams,
    size: streams.map(size),
    spread: streams.map(spread),
  };
};

const sayNorm = (n) => {
  if (n.variance < 1e-12)
    return "Your token's numbers are all equal: the norm makes zeros of them, whatever they are.";
  const by = `The norm takes off ${decimals(n.mean, 2)} and divides by ${decimals(Math.sqrt(n.variance), 2)}`;
  return n.normed_variance < 0.99
    ? `${by}, nearly: so small a variance feels the ε beside it, and does not become 1.`
    : `${by}.`;
};

const sayStack = ({ size, spread }, { strength, layers }) => {
  if (!size[0]) return "Where all is 0, all stays 0.";
  if (spread[0] < 1e-9) return "Both tokens are the same, and no layer can part them.";
  if (!strength)
    return "At strength 0 the sublayer is silent: without the plus nothing is left, with it and no norm behind it nothing changes.";
  const alike = JOINS.filter((_, i) => spread[i + 1] < 0.1);
  const look = alike.length
    ? `tokens that hardly differ (spread below 0.1) in ${alike.length === 1 ? "one row" : `${alike.length} rows`}: ${alike.join(", ")}`
    : "tokens that still differ in every row";
  const times = (i) => decimals(size[i] / size[0], 1);
  return `${layers === 1 ? "1 layer leaves" : `${layers} layers leave`} ${look}. The bare sum is ${times(3)} times as large as the start, pre-norm ${times(5)} times.`;
};

const say = (n, state) => `${sayNorm(n)} ${sayStack(n, state)}`;

const build = (view) => {
  const row = (label, ...cells) => make("tr", {}, make("th", { scope: "row" }, label), cells);
  const head = (...texts) =>
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        texts.map((text) => make("th", { scope: "col" }, text)),
      ),
    );
  const box = (label, table) =>
    make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": label }, table);
  const cell = (path, options) => make("td", {}, liveNumber(view, path, options));

  const token = make(
    "table.live-list.live-normed",
    {},
    head("", "your token x", "norm(x)"),
    make(
      "tbody",
      {},
      [0, 1, 2, 3].map((i) =>
        row(
          make(
            "div",
            {},
            `${i + 1}`,
            entrySlider(view, "x", i, { label: `number ${i + 1}`, min: -20, max: 20, step: 1 }),
          ),
          cell(`x.${i}`, { digits: 2 }),
          signedBarCell(view, `normed.${i}`, { reach: 1.75 }),
        ),
      ),
      row("mean", cell("mean"), cell("normed_mean")),
      row("variance", cell("variance"), cell("normed_variance")),
    ),
  );
  /** @type {[string, (v: number) => number][]} */
  const changes = [
    ["− 1", (v) => v - 1],
    ["+ 1", (v) => v + 1],
    ["÷ 2", (v) => v / 2],
    ["× 2", (v) => v * 2],
    ["× −1", (v) => -v],
  ];
  const buttons = changes.map(([label, change]) => {
    const button = makeButton(label, () => {
      const next = view.get("x").map(change);
      if (next.every((v) => Math.abs(v) <= 20)) view.set("x", next);
    });
    button.dataset.control = "all";
    view.each((_, { x }) =>
      button.setAttribute("aria-disabled", String(x.some((v) => Math.abs(change(v)) > 20))),
    );
    return button;
  });

  const names = ["start", ...JOINS];
  const notes = { "norm(x + f(x))": "post-norm", "x + f(norm(x))": "pre-norm" };
  const stacks = make(
    "table.live-list.live-stacks",
    {},
    make(
      "caption",
      {},
      "After the layers. Each row's bars have a scale of their own; spread: how far the two tokens differ, as a share of their size.",
    ),
    head("", make("span", {}, make("span.live-yours", {}, "yours"), ", other"), "size", "spread"),
    make(
      "tbody",
      {},
      names.map((name, i) =>
        row(
          [name, notes[name] && make("small", {}, ` ${notes[name]}`)],
          make(
            "td",
            {},
            smallBars(view, (n) => n.streams[i], { label: `${name}: your token, and the other` }),
          ),
          cell(`size.${i}`, { digits: 2 }),
          cell(`spread.${i}`),
        ),
      ),
    ),
  );
  return [
    make("p.live-lead", {}, "Change one number, then all four at once: when does norm(x) notice?"),
    make(
      "div.live-columns.live-tops",
      {},
      make(
        "div.live-half",
        {},
        box("Your token, before the norm and after it", token),
        make(
          "div.live-row",
          { role: "group", "aria-label": "change all four numbers" },
          make("span", {}, "all:"),
          buttons,
        ),
      ),
      make(
        "div.live-half",
        {},
        sliderControl(view, "layers", { label: "layers", min: 1, max: 12, step: 1, digits: 0 }),
        sliderControl(view, "strength", { label: "strength", min: 0, max: 1, step: 0.05 }),
        box("Both tokens after the layers", stacks),
      ),
    ),
    resultSentence(view, say),
  ];
};

const figure = { state: ["x", "other", "strength", "layers"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
