import { drawArrows, shadedCell, turningTip } from "./shared/arrows.js";
import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { dotProduct, matmul, softmax, transpose } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { vectorPlane } from "./shared/plane.js";
import { wholeNumber } from "./shared/whole.js";

const numbers = ({ market, W_q, W_k, W_v }) => {
  const [queries, keys, values] = [W_q, W_k, W_v].map((matrix) => matmul(market, matrix));
  const width = Math.sqrt(2);
  const scores = matmul(queries, transpose(keys)).map((row) => row.map((score) => score / width));
  const weights = scores.map(softmax);
  const answers = matmul(weights, values).map(([answer]) => answer);
  const wanted = market.map((_, i) => market[(i + 1) % market.length][2]);
  const error = answers.reduce((sum, a, i) => sum + (a - wanted[i]) ** 2, 0) / answers.length;
  return {
    W_q,
    W_k,
    W_v,
    queries,
    keys,
    values: values.map(([v]) => v),
    scores,
    weights,
    answers,
    wanted,
    error,
  };
};

const PARTS = ["right", "up", "price"];
const GOODS = ["tea", "rice", "salt", "oil"];
// The goal is reached where the error is below this.
const GOAL = 0.2;
const chosen = (W_v) => [0, 1, 2].find((i) => W_v.every(([x], j) => x === (i === j ? 1 : 0)));

const say = ({ queries, keys, scores, answers, wanted, error }, { W_q, W_k, W_v }) => {
  const near = (a, b) => Math.abs(a - b) < 1e-6;
  const angle = ([x, y]) => (Math.atan2(y, x) * 180) / Math.PI;
  // The angle between stall 1's query and the key of the stall it wants, in degrees.
  const beside = Math.abs(((angle(queries[0]) - angle(keys[1]) + 540) % 360) - 180);
  const keyTurned = !near(W_k[0][1], 0) || !near(W_k[1][0], 0);
  if (scores.flat().every((s) => near(s, 0))) {
    return "All scores are 0: each stall listens to all alike and hears the mean of the values. Attention cannot answer “nobody”.";
  }
  const both = `Stall 1 gives stall 2 the score ${decimals(scores[0][1], 2)} and gets ${decimals(scores[1][0], 2)} back`;
  const alike = `${both}. The same holds for every pair: the scores are symmetric`;
  const symmetric = scores.every((row, i) => row.every((s, j) => near(s, scores[j][i])));
  const steps = scores.map((row, i) => {
    const top = Math.max(...row);
    const best = row.flatMap((s, j) => (near(s, top) ? [j] : []));
    return best.length === 1 ? (best[0] - i + 4) % 4 : -1;
  });
  const step = steps.every((s) => s === steps[0]) ? steps[0] : -1;
  if (step === 0 && symmetric) {
    const turned = !near(W_q[0][1], 0) || !near(W_q[1][0], 0);
    return turned
      ? "Query and key are turned alike. The angle between the two is what it was, and each stall still listens most to itself."
      : `${alike}, and each stall listens most to itself.`;
  }
  if (step === 0) {
    return keyTurned
      ? "The key is turned, too. Only the angle between query and key counts: each stall again listens most to itself."
      : `${both}: the scores are not symmetric. But each stall listens most to itself.`;
  }
  if (step === 2)
    return "Each stall listens most to the one opposite, not to itself. But its neighbour is not found.";
  if (step === 3)
    return `${both}. Each stall listens most to a neighbour, but to the wrong one: anticlockwise.`;
  if (step === 1) {
    const face = chosen(W_v);
    if (face !== 2) {
      return "Each stall now listens most to the neighbour it wants. But what it hears is no price: the value is another number.";
    }
    const worst = answers.map((a, i) => Math.abs(a - wanted[i]));
    const i = worst.indexOf(Math.max(...worst));
    const heard = `stall ${i + 1} hears ${decimals(answers[i], 2)} for a price of ${wanted[i]}`;
    if (worst[i] < 0.2) {
      return keyTurned
        ? `Goal reached, with the key turned, too: ${heard}. Turning both by the same angle changes no score.`
        : `Goal reached: even the worst answer is close, ${heard}. Now turn k1 by the same angle, too.`;
    }
    if (error < GOAL) {
      return `Goal reached: even the worst answer is near, ${heard}. A longer query comes closer still.`;
    }
    const cure =
      beside > 7
        ? `The query is ${decimals(beside, 0)} degrees off its key: turn it.`
        : "The query points the right way, but is short: stretch it.";
    return `Each stall listens most to the neighbour it wants, but not to it alone: ${heard}. ${cure}`;
  }
  return symmetric ? `${alike}.` : `${both}: looking for and being found differ.`;
};

// Turn and stretch the whole matrix, so that the tip of stall 1 moves to another point.
/** @type {(matrix: number[][], place: number[], to: number[]) => number[][]} */
const moved = (matrix, place, [x, y]) => {
  const [[a, b]] = matmul([place], matrix);
  const length = a * a + b * b;
  const [from, tip] =
    length > 1e-12
      ? [matrix, [a, b]]
      : [
          [
            [1, 0],
            [0, 1],
            [0, 0],
          ],
          place.slice(0, 2),
        ];
  const size = dotProduct(tip, tip) || 1;
  const [c, d] = [(x * tip[0] + y * tip[1]) / size, (y * tip[0] - x * tip[1]) / size];
  const made = matmul(from, [
    [c, d],
    [-d, c],
  ]);
  const largest = Math.max(...made.flat().map(Math.abs));
  return made.map((row) =>
    row.map((value) => Number((value * Math.min(1, 4 / (largest || 1))).toFixed(12))),
  );
};

const build = (view) => {
  const reach = 5;
  const plane = vectorPlane({ reach, label: "Queries and keys of the four stalls, in the plane" });
  const stalls = [1, 2, 3, 4];
  const arrows = (key, role, offset) =>
    drawArrows(view, plane, {
      role,
      offset,
      tips: (n) => n[key],
      names: stalls.map((i) => `${role[0]}${i}`),
    });
  arrows("keys", "key", "beside");
  arrows("queries", "query", "beyond");
  const grip = (trait, role) =>
    turningTip(view, plane, {
      longest: 4,
      role,
      control: trait,
      label: `${role} of stall 1: left and right turn it, up and down stretch it`,
      tip: (n) => (role === "query" ? n.queries : n.keys)[0],
      move: (to) => view.set(trait, moved(view.get(trait), view.get("market")[0], to)),
    });
  grip("W_k", "key");
  // A larger knob, so that its rim is seen where the query is turned onto the key.
  plane.svg.querySelector(".knob.key")?.setAttribute("r", "11");
  grip("W_q", "query");

  const th = (text, attributes = {}) => make("th", { scope: "col", ...attributes }, text);
  const caption = "Weights, with the scores below them";
  const place = (i) => make("small", {}, `(${view.get("market")[i].map(wholeNumber).join(", ")})`);
  const rows = stalls.map((stall, i) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, `${stall} ${GOODS[i]}`, make("br"), place(i)),
      stalls.map((_, j) =>
        shadedCell(view, {
          path: `weights.${i}.${j}`,
          role: "weights",
          small: `scores.${i}.${j}`,
        }),
      ),
      make("td", {}, liveNumber(view, `answers.${i}`, { digits: 2 })),
      make("td", {}, liveNumber(view, `wanted.${i}`, { digits: 0 })),
    ),
  );
  const grid = make(
    "table.live-grid.live-market",
    {},
    make("caption", {}, caption),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        make("td", {}, "stall"),
        stalls.map((i) => th(`to ${i}`)),
        th("hears"),
        th("wants"),
      ),
    ),
    make(
      "tbody",
      {},
      rows,
      make(
        "tr",
        {},
        make("th.value", { scope: "row" }, "value"),
        stalls.map((_, j) =>
          make("td", {}, liveNumber(view, `values.${j}`, { digits: 2, role: "value" })),
        ),
        make("td"),
        make("td"),
      ),
    ),
  );

  const name = (face) =>
    make(`span.${{ q: "query", k: "key", v: "value" }[face]}`, {}, "W", make("sup", {}, face));
  const matrices = make(
    "table.live-grid.live-matrices",
    {},
    make("caption", {}, "The matrices"),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        make("td"),
        th(name("q"), { colspan: 2, scope: "colgroup" }),
        th(name("k"), { colspan: 2, scope: "colgroup" }),
        th(name("v")),
      ),
    ),
    make(
      "tbody",
      {},
      PARTS.map((part, i) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, part),
          [
            ["W_q", 0],
            ["W_q", 1],
            ["W_k", 0],
            ["W_k", 1],
            ["W_v", 0],
          ].map(([key, j]) =>
            make(
              "td",
              {},
              liveNumber(view, `${key}.${i}.${j}`, {
                digits: 2,
                role: { W_q: "query", W_k: "key", W_v: "value" }[key],
              }),
            ),
          ),
        ),
      ),
    ),
  );

  const inputs = PARTS.map((text, i) => {
    const input = make("input", {
      type: "radio",
      name: `${view.id}-value`,
      value: i,
      "data-control": "W_v",
      onchange: () =>
        view.set(
          "W_v",
          PARTS.map((_, j) => [i === j ? 1 : 0]),
        ),
    });
    view.each((_, state) => {
      input.checked = chosen(state.W_v) === i;
    });
    return make("label", {}, input, make("span", {}, text));
  });
  const choice = make("fieldset.live-choice", {}, make("legend", {}, "Value: "), inputs);
  const goal = make("span");
  view.each((n) => {
    goal.textContent = n.error < GOAL ? "goal reached" : `goal: below ${GOAL}`;
  });
  const error = make(
    "p.live-answer",
    {},
    "Mean square error: ",
    liveNumber(view, "error", { digits: 2 }),
    ", ",
    goal,
  );

  // Boxes of their own, so that with large text these tables scroll and the page does not.
  const box = (label, table) =>
    make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": label }, table);

  return [
    make("p.live-lead", {}, "Drag the tip of q1: all four queries turn."),
    make(
      "div.live-turned",
      {},
      plane.svg,
      make("div.live-heard", {}, error, box("Weights", grid), choice),
      box("The matrices", matrices),
      resultSentence(view, say),
    ),
  ];
};

const figure = { state: ["market", "W_q", "W_k", "W_v"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
