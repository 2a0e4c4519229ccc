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
    projection: lengthQ ? dot / lengthQ : NaN,
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
        ? "A right angle: k casts no shadow on q. The dot product is 0, however long the two are."
        : dot > 0
          ? "The angle is acute: k’s shadow falls along q, and the dot product is positive."
          : "The angle is obtuse: k’s shadow falls backwards, and the dot product is negative.";
  const tie = near(dot, own);
  if (!tie && dot < own) return direction;
  if (tie && near(angle, 0)) return `${direction} Here the two are the same vector.`;
  return tie
    ? "The shadow of k ends at the tip of q: q scores k exactly as high as itself."
    : "The shadow of k reaches beyond the tip of q: q scores k higher than itself.";
};

const build = (view) => {
  const reach = 4;
  const plane = vectorPlane({ reach, label: "Two vectors in the plane" });
  const foot = (n) => (n.own ? n.q.map((x) => (x * n.dot) / n.own) : null);
  planeLine(view, plane, "shadow", (n) => {
    const end = foot(n);
    return end && [[0, 0], end];
  });
  planeLine(view, plane, "drop", (n) => {
    const end = foot(n);
    return end && [n.k, end];
  });
  vectorHandle(view, plane, "k", { role: "key", name: "k" });
  vectorHandle(view, plane, "q", { role: "query", name: "q" });
  const facts = factTable(view, [
    ["length of k", "length_k", { role: "key" }],
    [["× cosine of ", liveNumber(view, "angle", { digits: 2 }), "°"], "cosine"],
    ["= shadow of k on q", "projection"],
    ["× length of q", "length_q", { role: "query" }],
    ["= dot product", "dot", { role: "scores" }],
    ["q with itself", "own", { role: "scores" }],
  ]);
  facts.classList.add("live-sum");

  // Buttons that change a direction and keep the length, or the reverse.
  const turned =
    (cosine, sine) =>
    ({ q, k }) => {
      const [x, y] = q.map((value) => value / vectorLength(q));
      const to = [x * cosine - y * sine, x * sine + y * cosine];
      const longest = reach / Math.max(...to.map(Math.abs)); // the tip must stay in the plane
      return to.map((value) => value * Math.min(vectorLength(k), longest));
    };
  const pointing = ({ q, k }) => vectorLength(q) > 0 && vectorLength(k) > 0;
  const scaled = (key, factor) => (state) => state[key].map((x) => x * factor);
  const fits = (vector) => vector.every((x) => Math.abs(x) <= reach) && vectorLength(vector) > 0.1;
  const press = (label, name, key, change, possible) => {
    const button = makeButton(label, () => view.set(key, change(view.state())));
    button.dataset.control = name;
    view.each((_, state) => {
      button.disabled = !possible(state);
    });
    return button;
  };
  const turn = (label, cosine, sine) => {
    const to = turned(cosine, sine);
    return press(label, "turn", "k", to, pointing);
  };
  const scale = (label, key, factor) => {
    const to = scaled(key, factor);
    return press(label, "length", key, to, (state) => fits(to(state)));
  };
  const groups = [
    ["Turn k", [turn("along q", 1, 0), turn("at 90°", 0, 1), turn("against q", -1, 0)]],
    [
      "Lengths",
      [
        scale("k × 2", "k", 2),
        scale("k ÷ 2", "k", 0.5),
        scale("q × 2", "q", 2),
        scale("q ÷ 2", "q", 0.5),
      ],
    ],
  ];
  // It stands between what it tells and the buttons, so that on a phone it covers neither.
  const reading = resultSentence(view, say);
  reading.classList.add("within");
  return [
    make(
      "p.live-lead",
      {},
      "Drag the tips of the arrows (by keyboard: arrow keys). Each square is 1 wide.",
    ),
    make("div.live-columns", {}, plane.svg, facts),
    reading,
    make(
      "div.live-presses",
      {},
      groups.map(([label, buttons]) =>
        make(
          "div.live-press",
          { role: "group", "aria-label": label },
          make("span.live-lead", {}, label),
          buttons,
        ),
      ),
    ),
  ];
};

const figure = { state: ["q", "k"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
