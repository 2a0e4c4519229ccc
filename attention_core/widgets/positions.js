import { makeButton } from "./shared/button.js";
import { lineChart } from "./shared/chart.js";
import { choiceControl } from "./shared/choice.js";
import { decimals, make } from "./shared/elements.js";
import { factTable } from "./shared/facts.js";
import { renderFigure } from "./shared/figure.js";
import { dotProduct, matmul } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { sliderControl } from "./shared/slider.js";
import { handWheel } from "./shared/wheel.js";

const LAST_OFFSET = 60;
const MOST_PAIRS = 8;

const numbers = ({ position, offset, pair, d_model: width, base }) => {
  const steps = Array.from({ length: width / 2 }, (_, i) =>
    Math.exp((-2 * i * Math.log(base)) / width),
  );
  const row = (at) => steps.map((step) => [Math.sin(at * step), Math.cos(at * step)]);
  const rows = Array.from({ length: LAST_OFFSET + 1 }, (_, k) => row(position + k));
  const parts = rows.map((there) => there.map((hand, i) => dotProduct(hand, rows[0][i])));
  const dots = parts.map((shares) => shares.reduce((a, b) => a + b, 0));
  const radians = steps[pair];
  const turn = offset * radians;
  const matrix = [
    [Math.cos(turn), -Math.sin(turn)],
    [Math.sin(turn), Math.cos(turn)],
  ];
  const here = rows[0][pair];
  return {
    here,
    matrix,
    there: matmul([here], matrix)[0],
    radians,
    wavelength: (2 * Math.PI) / radians,
    turn,
    turns: turn / (2 * Math.PI),
    hands: [rows[0], rows[offset]],
    parts: Array.from({ length: MOST_PAIRS }, (_, i) => parts[offset][i] ?? NaN),
    part: parts[offset][pair],
    dot: dots[offset],
    curve: parts.map((shares) => shares[pair]),
    dots,
    most: width / 2,
  };
};

const words = (count) => (count === 1 ? "1 word" : `${count} words`);

const say = ({ turn, turns, dot, most, dots }, { position, offset, pair }) => {
  if (offset === 0) {
    return `Offset 0: nothing turns. Each pair adds 1, and the dot product has its largest value, ${most}.`;
  }
  const cosine = Math.cos(turn);
  const sees =
    turns >= 0.9 && cosine > 0.9
      ? `Pair ${pair} has come round and is almost back: it takes ${words(offset)} for none.`
      : turns >= 1
        ? `Pair ${pair} has gone round ${decimals(turns, 1)} times: it cannot tell how far it is.`
        : cosine > 0.99
          ? `Pair ${pair} has hardly moved: for it ${words(offset)} are no distance.`
          : `Pair ${pair} has turned by ${decimals(360 * turns, 0)} degrees, and tells the two places apart.`;
  const lowest = dots
    .slice(0, offset + 1)
    .reduce((best, other, k) => (other < dots[best] ? k : best), 0);
  return (
    `${sees} From position ${position} to ${position + offset}, or from anywhere else, ` +
    `${words(offset)} make ${decimals(dot)}` +
    `${lowest < offset ? `, and ${words(lowest)} only ${decimals(dots[lowest])}` : ""}.`
  );
};

const build = (view) => {
  const hand = (which, pairOf, role, dashed) => ({
    role,
    dashed,
    at: (n, state) => n.hands[which][pairOf(state)],
  });
  const hands = (pairOf) => [hand(0, pairOf, "query", false), hand(1, pairOf, "key", true)];
  const angle = ([right, up]) => Math.atan2(right, up);
  const wheel = handWheel(view, {
    hands: hands((state) => state.pair),
    wedge: (n) => [angle(n.here), n.turn],
    names: ["sine", "cosine"],
    label: "The pair as a hand, at the position and at the offset from it",
  });
  const cell = (path) => make("td", {}, liveNumber(view, path));
  const line = (role, label, path) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make(`span.${role}`, {}, label)),
      cell(`${path}.0`),
      cell(`${path}.1`),
    );
  const turning = make(
    "table",
    {},
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        ["", "sine", "cosine"].map((text) =>
          text ? make("th", { scope: "col" }, text) : make("td"),
        ),
      ),
    ),
    make(
      "tbody",
      {},
      line("query", "position", "here"),
      line("scores", "times the turn,", "matrix.0"),
      line("scores", "row by row", "matrix.1"),
      line("key", "= position + offset", "there"),
    ),
  );
  const facts = factTable(view, [
    ["radians per word", "radians"],
    ["words for a full turn", "wavelength", { digits: 1 }],
    ["turn at this offset, radians", "turn", { role: "scores" }],
  ]);
  const buttons = Array.from({ length: MOST_PAIRS }, (_, i) => {
    const button = makeButton([`pair ${i}`], () => view.set("pair", i));
    button.dataset.control = "pair";
    button.append(
      handWheel(view, {
        hands: [0, 1].map((which) => ({
          role: which ? "key" : "query",
          dashed: Boolean(which),
          at: (n) => n.hands[which][i],
        })),
        knob: 0,
      }),
      liveNumber(view, `parts.${i}`, { digits: 2 }),
    );
    view.each((_, state) => {
      button.hidden = i >= state.d_model / 2;
      button.setAttribute("aria-pressed", String(state.pair === i));
    });
    return button;
  });
  // A narrower table has fewer pairs: the picked one must be among them.
  const narrower = {
    ...view,
    set: (key, width) => {
      if (view.get("pair") >= width / 2) view.set("pair", width / 2 - 1);
      view.set(key, width);
    },
  };
  const chart = (title, number, path, most) =>
    make(
      "div",
      {},
      make("div", {}, `${title}: `, liveNumber(view, number, { role: "scores" })),
      lineChart(view, {
        path,
        most,
        role: "scores",
        across: "offset",
        mark: (state) => state.offset,
        label: `${title}, for offsets 0 to ${LAST_OFFSET}`,
      }),
    );
  const phone = matchMedia("(max-width: 700px)").matches; // there the numbers are folded at first
  return [
    make("p.live-lead", {}, "Drag the offset from 3 to 6. Click a pair to see its hand large."),
    make(
      "div.live-pair-controls",
      {},
      sliderControl(view, "position", {
        label: "position",
        min: 0,
        max: 200,
        step: 1,
        digits: 0,
        role: "query",
      }),
      sliderControl(view, "offset", {
        label: "offset",
        min: 0,
        max: LAST_OFFSET,
        step: 1,
        digits: 0,
        role: "key",
      }),
    ),
    make(
      "div.live-turn",
      {},
      wheel,
      make(
        "details",
        phone ? {} : { open: "" },
        make("summary", {}, "The turn in numbers"),
        turning,
        facts,
      ),
    ),
    make("div.live-lead", {}, "Each pair adds the cosine of its turn. The sum is the dot product."),
    make(
      "div.live-wheels",
      { role: "group", "aria-label": "pairs, and what each adds to the dot product" },
      buttons,
    ),
    make(
      "div.live-columns",
      {},
      chart("Dot product of the two rows", "dot", "dots", "most"),
      chart("What the large pair adds", "part", "curve", 1),
    ),
    make(
      "div.live-pair-controls",
      {},
      choiceControl(narrower, "d_model", {
        label: "width",
        options: [4, 8, 16].map((n) => [n, String(n)]),
      }),
      choiceControl(view, "base", {
        label: "base",
        options: [
          [10, "10"],
          [100, "100"],
          [10000, "10,000"],
        ],
      }),
    ),
    resultSentence(view, say),
  ];
};

const figure = { state: ["position", "offset", "pair", "d_model", "base"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
