const numbers = ({ q, k }) => {
  const dot = live.dot(q, k);
  const lengthQ = live.norm(q);
  const lengthK = live.norm(k);
  // A vector of length 0 has no direction.
  const cosine = lengthQ && lengthK ? Math.max(-1, Math.min(1, dot / (lengthQ * lengthK))) : NaN;
  return {
    q, k, dot, cosine,
    length_q: lengthQ,
    length_k: lengthK,
    angle: (Math.acos(cosine) * 180) / Math.PI,
    projection: lengthK ? dot / lengthK : NaN,
  };
};

const say = ({ dot, angle, projection }) => {
  if (Number.isNaN(angle)) return "A vector of length 0 points nowhere: no angle, and the dot product is 0.";
  const side = Math.abs(dot) < 1e-9
    ? "The angle is right and q throws no shadow on k: the dot product is 0."
    : dot > 0
      ? "The angle is acute: q's shadow falls along k, and the dot product is positive."
      : "The angle is obtuse: q's shadow falls backwards, and the dot product is negative.";
  return side;
};

const build = (view) => {
  const plane = live.plane(view, { reach: 4, label: "Two vectors in the plane" });
  const foot = (n) => {
    const squared = live.dot(n.k, n.k);
    return squared ? n.k.map((x) => (x * n.dot) / squared) : null;
  };
  plane.line("shadow", (n) => foot(n) && [[0, 0], foot(n)]);
  plane.line("drop", (n) => foot(n) && [n.q, foot(n)]);
  plane.handle("k", { role: "key", name: "k" });
  plane.handle("q", { role: "query", name: "q" });
  const facts = live.facts(view, [
    ["length of q", "length_q", { role: "query" }],
    ["length of k", "length_k", { role: "key" }],
    ["angle in degrees", "angle", { digits: 2 }],
    ["cosine of the angle", "cosine"],
    ["shadow of q on k", "projection"],
    ["dot product", "dot", { role: "scores" }],
  ]);
  return [
    live.make("p.live-lead", {}, "Drag the tips of the arrows, or move them with the arrow keys."),
    live.make("div.live-columns", {}, plane.svg, facts),
    live.reading(view, say),
  ];
};

const figure = { state: ["q", "k"], numbers, build };
export default { ...figure, render: live.render(figure) };
