import { makeButton } from "./shared/button.js";
import { make } from "./shared/elements.js";
import { factTable } from "./shared/facts.js";
import { renderFigure } from "./shared/figure.js";
import { planeLine, vectorHandle } from "./shared/handle.js";
import { dotProduct, vectorLength } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { vectorPlane } from "./shared/plane.js";

const numbers = ({ q, k }) => {
  const dot = dotProduct(q, k);
  const lengthQ = vectorLength(q);
  const lengthK = vectorLength(k);
  // A vector of length 0 has no direction.
  const pointing = lengthQ > 0 && lengthK > 0;
  // More accurate than acos, which is steep at both ends.
  const across = Math.abs(q[0] * k[1] - q[1] * k[0]);
  return {
    q,
    k,
    dot,
    own: dotProduct(q, q),
    length_q: lengthQ,
    length_k: lengthK,
    cosine: pointing ? Math.max(-1, Math.min(1, dot / (lengthQ * lengthK))) : NaN,
    angle: pointing ? (Math.atan2(across, dot) * 180) / Math.PI : NaN,
    projection: lengthK ? dot / lengthK : NaN,
  };
};

const say = ({ dot, own, angle }) => {
  if (Number.isNaN(angle)) {
    return "A vector of length 0 points nowhere: there is no angle, and the dot product is 0.";
  }
  const near = (a, b) => Math.abs(a - b) < 1e-6;
  const direction = near(angle, 0)
    ? "Same direction: the cosine is 1, and the dot product is one length times the other."
    : near(angle, 180)
      ? "Opposite directions: the cosine is −1, and the dot product is as low as these lengths allow."
      : near(angle, 90)
        ? "A right angle: q throws no shadow on k. The dot product is 0, however long the two are."
        : dot > 0
          ? "The angle is acute: q's shadow falls along k, and the dot product is positive."
          : "The angle is obtuse: q's shadow falls backwards, and the dot product is negative.";
  const rival = near(dot, own)
    ? " q scores k exactly as high as itself"
    : dot > own
      ? " q scores k even higher than itself"
      : "";
  if (!rival) return direction;
  return near(angle, 0) && near(dot, own)
    ? `${direction} Here the two are the same vector.`
    : `${direction}${rival}: that is the work of k's length.`;
};

const build = (view) => {
  const reach = 4;
  const plane = vectorPlane({ reach, label: "Two vectors in the plane" });
  const foot = (n) => {
    const squared = dotProduct(n.k, n.k);
    return squared ? n.k.map((x) => (x * n.dot) / squared) : null;
  };
  planeLine(view, plane, "shadow", (n) => {
    const end = foot(n);
    return end && [[0, 0], end];
  });
  planeLine(view, plane, "drop", (n) => {
    const end = foot(n);
    return end && [n.q, end];
  });
  vectorHandle(view, plane, "k", { role: "key", name: "k" });
  vectorHandle(view, plane, "q", { role: "query", name: "q" });
  const facts = factTable(view, [
    ["length of q", "length_q", { role: "query" }],
    [["× cosine of ", liveNumber(view, "angle", { digits: 2 }), "°"], "cosine"],
    ["= shadow of q on k", "projection"],
    ["× length of k", "length_k", { role: "key" }],
    ["= dot product", "dot", { role: "scores" }],
    ["q with itself", "own", { role: "scores" }],
  ]);
  facts.classList.add("live-sum");

  // Buttons that change a direction and keep the length, or the reverse.
  const fits = (vector) => vector.every((x) => Math.abs(x) <= reach);
  const turned =
    (cosine, sine) =>
    ({ q, k }) => {
      const [x, y] = k.map((value) => value / vectorLength(k));
      const to = [x * cosine - y * sine, x * sine + y * cosine];
      const longest = reach / Math.max(...to.map(Math.abs)); // the tip must stay in the plane
      return to.map((value) => value * Math.min(vectorLength(q), longest));
    };
  const pointing = ({ q, k }) => vectorLength(q) > 0 && vectorLength(k) > 0;
  const press = (label, name, key, change, possible) => {
    const button = makeButton(label, () => view.set(key, change(view.state())));
    button.dataset.control = name;
    view.each((_, state) => {
      button.disabled = !possible(state);
    });
    return button;
  };
  const longer =
    (factor) =>
    ({ k }) =>
      k.map((x) => x * factor);
  /** @typedef {(state: { q: number[], k: number[] }) => number[]} Change */
  /** @typedef {(state: { q: number[], k: number[] }) => boolean} Test */
  /** @type {[string, [string, string, string, Change, Test][]][]} */
  const groups = [
    [
      "Turn q",
      [
        ["along k", "turn", "q", turned(1, 0), pointing],
        ["across k", "turn", "q", turned(0, 1), pointing],
        ["against k", "turn", "q", turned(-1, 0), pointing],
      ],
    ],
    [
      "Make k",
      [
        [
          "twice as long",
          "length",
          "k",
          longer(2),
          (state) => vectorLength(state.k) > 0 && fits(longer(2)(state)),
        ],
        ["half as long", "length", "k", longer(0.5), (state) => vectorLength(state.k) > 0.2],
      ],
    ],
  ];
  return [
    make("p.live-lead", {}, "Drag the tips of the arrows, or move them with the arrow keys."),
    make("div.live-columns", {}, plane.svg, facts),
    make(
      "div.live-presses",
      {},
      groups.map(([label, buttons]) =>
        make(
          "div.live-press",
          { role: "group", "aria-label": label },
          make("span.live-lead", {}, label),
          buttons.map((parts) => press(...parts)),
        ),
      ),
    ),
    resultSentence(view, say),
  ];
};

const figure = { state: ["q", "k"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
