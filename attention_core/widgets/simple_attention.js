const numbers = ({ embeddings, query, temperature }) => {
  const q = embeddings[query];
  const scores = embeddings.map((x) => live.dot(x, q));
  const weights = live.softmax(scores.map((s) => s / temperature));
  const parts = embeddings.map((x, i) => x.map((value) => weights[i] * value));
  const sums = [];
  for (const part of parts) {
    const before = sums[sums.length - 1];
    sums.push(before ? part.map((value, j) => before[j] + value) : part);
  }
  return { scores, weights, parts, sums, context: sums[sums.length - 1] };
};

const say = ({ weights }, { words, query }) => {
  const best = weights.indexOf(Math.max(...weights));
  const other = best === query ? "itself" : `“${words[best]}”`;
  return `“${words[query]}” looks most at ${other}, with weight ${live.text(weights[best], 2)}. ` +
    `If all were alike, each would have ${live.text(1 / words.length, 2)}.`;
};

const build = (view) => {
  const { words, embeddings } = view.state();
  const rows = words.map((word, i) => {
    const button = live.button(live.word(word), () => view.set("query", i));
    button.dataset.control = "query";
    view.each((_, state) => button.setAttribute("aria-pressed", String(state.query === i)));
    return live.make(
      "tr", {},
      live.make("th", { scope: "row" }, button),
      live.make("td", {}, live.number(view, `scores.${i}`, { role: "scores" })),
      live.bar(view, `weights.${i}`, { role: "weights" }),
      embeddings[0].map((_, j) => live.make("td", {}, live.number(view, `sums.${i}.${j}`, { digits: 2 }))),
    );
  });
  const head = live.make(
    "tr", {},
    ["word", "score", "weight"].map((text) => live.make("th", { scope: "col" }, text)),
    live.make("th", { scope: "colgroup", colspan: embeddings[0].length }, "sum so far"),
  );
  const caption = "What the word sees: scores, weights, and its context as the sum grows";
  const context = live.make(
    "p", {}, "Context: ",
    embeddings[0].map((_, j) => [j ? ", " : "", live.number(view, `context.${j}`)]).flat(),
  );
  return [
    live.make("p.live-lead", {}, `Click a word: it becomes the query, and looks at all ${words.length}.`),
    live.make(
      "div.live-scroll", { tabindex: 0, role: "group", "aria-label": caption },
      live.make("table.live-list", {}, live.make("thead", {}, head), live.make("tbody", {}, rows)),
    ),
    live.slider(view, "temperature", { label: "temperature", min: 0.05, max: 5, step: 0.05 }),
    context,
    live.reading(view, say),
  ];
};

const figure = { state: ["words", "embeddings", "query", "temperature"], numbers, build };
export default { ...figure, render: live.render(figure) };
