const numbers = ({ embeddings, query, temperature, cosine }) => {
  const lengths = embeddings.map(live.norm);
  const compared = cosine
    ? embeddings.map((x, i) => (lengths[i] ? x.map((value) => value / lengths[i]) : x))
    : embeddings;
  const table = compared.map((a) => compared.map((b) => live.dot(a, b)));
  const scores = table[query];
  const weights = live.softmax(scores.map((s) => s / temperature));
  const sums = [];
  embeddings.forEach((x, i) => {
    const before = sums[i - 1] || x.map(() => 0);
    sums.push(x.map((value, j) => before[j] + weights[i] * value));
  });
  return {
    scores, weights, sums, lengths,
    context: sums[sums.length - 1],
    mean: live.transpose(embeddings).map((c) => c.reduce((a, b) => a + b, 0) / c.length),
    // How many score no other word above themselves.
    loyal: table.filter((row, i) => row[i] >= Math.max(...row) - 1e-9).length,
  };
};

const say = ({ scores, weights, lengths, loyal }, { words, query, cosine }) => {
  const [most, least] = [Math.max(...weights), Math.min(...weights)];
  const best = weights.indexOf(most);
  const itself = scores[query] >= scores[best] - 1e-9;
  const word = (i) => `“${words[i]}”`;
  const alike = 1 / words.length;
  if (most - least < 0.2 * alike) {
    return `${word(query)} looks at all words nearly alike, with shares of about ${live.text(alike, 2)}: ` +
      "its context is nearly the plain mean.";
  }
  if (most > 0.95) {
    const what = itself ? "itself: its context is hardly more than the word" : `${word(best)}: its context is hardly more than that word`;
    return `${word(query)} gives ${live.text(most, 2)} of its attention to ${what}.`;
  }
  if (cosine) {
    return `By direction alone no word scores higher than ${word(query)} itself. ${loyal} of ${words.length} words put themselves first.`;
  }
  if (itself) {
    const others = weights.map((w, i) => (i === query ? -1 : w));
    const next = others.indexOf(Math.max(...others));
    return `${word(query)} looks most at itself, with ${live.text(weights[query], 2)}, and next at ${word(next)}, ` +
      `with ${live.text(weights[next], 2)}. ${loyal} of ${words.length} words put themselves first.`;
  }
  return `${word(query)} looks more at ${word(best)} than at itself. Of the two, ${word(best)} is longer: ` +
    `${live.text(lengths[best], 2)} against ${live.text(lengths[query], 2)}.`;
};

const build = (view) => {
  const { words, embeddings } = view.state();
  const width = embeddings[0].length;
  const sentence = words.map((word, i) => {
    const button = live.button(live.word(word), () => view.set("query", i));
    button.dataset.control = "query";
    view.each(({ weights }, state) => {
      button.setAttribute("aria-pressed", String(state.query === i));
      // The strongest word has the full shade: a shade shows order, the number how much.
      button.style.setProperty("--share", `${Math.round((40 * weights[i]) / Math.max(...weights))}%`);
    });
    return button;
  });
  const row = (word, cells) => live.make("tr", {}, live.make("th", { scope: "row" }, word), cells);
  const rows = words.map((word, i) => {
    const line = row(live.word(word), [
      live.make("td", {}, live.number(view, `scores.${i}`, { role: "scores" })),
      live.bar(view, `weights.${i}`, { role: "weights" }),
      embeddings[0].map((_, j) => live.make("td", {}, live.number(view, `sums.${i}.${j}`, { digits: 2 }))),
    ].flat());
    view.each((_, state) => line.classList.toggle("asks", state.query === i));
    return line;
  });
  const mean = live.make(
    "tr", {},
    live.make("th", { scope: "row", colspan: 3 }, "plain mean of the words"),
    embeddings[0].map((_, j) => live.make("td", {}, live.number(view, `mean.${j}`, { digits: 2 }))),
  );
  const head = live.make(
    "tr", {},
    ["word", "score", "weight"].map((text) => live.make("th", { scope: "col" }, text)),
    live.make("th", { scope: "colgroup", colspan: width }, "sum so far: weight · word, added up"),
  );
  const caption = "What the word sees: scores, weights, and its context as the sum grows";
  const context = live.make(
    "p.live-answer", {}, "Context: ",
    embeddings[0].map((_, j) => [j ? ", " : "", live.number(view, `context.${j}`)]).flat(),
  );
  const worked = live.make(
    "p.live-worked", {}, "Its first number: ",
    words.map((_, i) => [i ? " + " : "", live.make(
      "span", { style: "white-space: nowrap" },
      live.number(view, `weights.${i}`, { role: "weights" }), ` · ${Number(embeddings[i][0].toFixed(4))}`,
    )]).flat(),
    " = ", live.number(view, "context.0"),
  );
  return [
    live.make("p.live-lead", {}, `Choose a word. It becomes the query and looks at all ${words.length}, itself included.`),
    live.make("div.live-sentence", { role: "group", "aria-label": "The sentence" }, sentence),
    live.make(
      "div.live-scroll", { tabindex: 0, role: "group", "aria-label": caption },
      live.make("table.live-list.live-gather", {}, live.make("thead", {}, head), live.make("tbody", {}, rows, mean)),
    ),
    context,
    worked,
    live.slider(view, "temperature", { label: "temperature", min: 0.05, max: 5, step: 0.05 }),
    live.toggle(view, "cosine", { label: "compare directions only: every word cut to length 1" }),
    live.reading(view, say),
  ];
};

const structure = ({ words, embeddings }) => [words, embeddings[0].length];
const figure = { state: ["words", "embeddings", "query", "temperature", "cosine"], structure, numbers, build };
export default { ...figure, render: live.render(figure) };
