import { barCell } from "./shared/bars.js";
import { makeButton } from "./shared/button.js";
import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { dotProduct, softmax, transpose, vectorLength } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { sliderControl } from "./shared/slider.js";
import { toggleControl } from "./shared/toggle.js";
import { wordNode } from "./shared/words.js";

const numbers = ({ embeddings, query, temperature, cosine }) => {
  const lengths = embeddings.map(vectorLength);
  const compared = cosine
    ? embeddings.map((x, i) => (lengths[i] ? x.map((value) => value / lengths[i]) : x))
    : embeddings;
  const table = compared.map((a) => compared.map((b) => dotProduct(a, b)));
  const scores = table[query];
  const weights = softmax(scores.map((s) => s / temperature));
  const sums = [];
  embeddings.forEach((x, i) => {
    const before = sums[i - 1] || x.map(() => 0);
    sums.push(x.map((value, j) => before[j] + weights[i] * value));
  });
  return {
    scores,
    weights,
    sums,
    lengths,
    context: sums[sums.length - 1],
    mean: transpose(embeddings).map((c) => c.reduce((a, b) => a + b, 0) / c.length),
    // The number of words that score no other word higher than themselves.
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
    return (
      `${word(query)} looks at all words nearly alike, with shares of about ${decimals(alike, 2)}: ` +
      "its context is nearly the plain mean."
    );
  }
  if (most > 0.95) {
    const what = itself
      ? "itself: its context is hardly more than the word"
      : `${word(best)}: its context is hardly more than that word`;
    return `${word(query)} gives ${decimals(most, 2)} of its attention to ${what}.`;
  }
  if (cosine) {
    return `By direction alone no word scores higher than ${word(query)} itself. ${loyal} of ${words.length} words put themselves first.`;
  }
  if (itself) {
    const others = weights.map((w, i) => (i === query ? -1 : w));
    const next = others.indexOf(Math.max(...others));
    return (
      `${word(query)} looks most at itself, with ${decimals(weights[query], 2)}, and next at ${word(next)}, ` +
      `with ${decimals(weights[next], 2)}. ${loyal} of ${words.length} words put themselves first.`
    );
  }
  return (
    `${word(query)} looks more at ${word(best)} than at itself. Of the two, ${word(best)} is longer: ` +
    `${decimals(lengths[best], 2)} against ${decimals(lengths[query], 2)}.`
  );
};

const build = (view) => {
  const { words, embeddings } = view.state();
  const width = embeddings[0].length;
  const lengths = embeddings.map(vectorLength);
  const sentence = words.map((word, i) => {
    const button = makeButton(wordNode(word), () => view.set("query", i));
    button.dataset.control = "query";
    view.each(({ weights }, state) => {
      button.setAttribute("aria-pressed", String(state.query === i));
      // The largest weight gets the full shade: shades show the order, numbers the amount.
      button.style.setProperty(
        "--share",
        `${Math.round((40 * weights[i]) / Math.max(...weights))}%`,
      );
    });
    return button;
  });
  const row = (word, cells) => make("tr", {}, make("th", { scope: "row" }, word), cells);
  const rows = words.map((word, i) => {
    const line = row(
      wordNode(word),
      [
        make("td", {}, liveNumber(view, `scores.${i}`, { role: "scores" })),
        barCell(view, `weights.${i}`, { role: "weights" }),
        embeddings[0].map((_, j) =>
          make("td", {}, liveNumber(view, `sums.${i}.${j}`, { digits: 2 })),
        ),
      ].flat(),
    );
    view.each((_, state) => line.classList.toggle("asks", state.query === i));
    return line;
  });
  const mean = make(
    "tr",
    {},
    make("th", { scope: "row", colspan: 3 }, "plain mean of the words"),
    embeddings[0].map((_, j) => make("td", {}, liveNumber(view, `mean.${j}`, { digits: 2 }))),
  );
  const head = make(
    "tr",
    {},
    ["word", "score", "weight (all add up to 1)"].map((text) => make("th", { scope: "col" }, text)),
    make("th", { scope: "colgroup", colspan: width }, "running sum of weight · word"),
  );
  const caption = "What the word sees: scores, weights, and its context as the sum grows";
  const context = make(
    "p.live-answer",
    {},
    "Context: ",
    embeddings[0].flatMap((_, j) => [j ? ", " : "", liveNumber(view, `context.${j}`)]),
  );
  const worked = make(
    "p.live-worked",
    {},
    "Its first number: ",
    words.flatMap((_, i) => [
      i ? " + " : "",
      make(
        "span",
        { style: "white-space: nowrap" },
        liveNumber(view, `weights.${i}`, { role: "weights" }),
        ` · ${Number(embeddings[i][0].toFixed(4))}`,
      ),
    ]),
    " = ",
    liveNumber(view, "context.0"),
  );
  const shortest = lengths.indexOf(Math.min(...lengths));
  return [
    make(
      "p.live-lead",
      {},
      `Choose a word as the query. Does “${words[shortest]}” look at itself most?`,
    ),
    make("div.live-sentence", { role: "group", "aria-label": "The sentence" }, sentence),
    make(
      "div.live-scroll",
      { tabindex: 0, role: "group", "aria-label": caption },
      make(
        "table.live-list.live-gather",
        {},
        make("thead", {}, head),
        make("tbody", {}, rows, mean),
      ),
    ),
    context,
    worked,
    sliderControl(view, "temperature", {
      label: "temperature",
      min: 0.05,
      max: 5,
      step: 0.05,
      mark: 1,
    }),
    toggleControl(view, "cosine", {
      label: "compare directions only: every word scaled to length 1",
    }),
    resultSentence(view, say),
  ];
};

const structure = ({ words, embeddings }) => [words, embeddings[0].length];
const figure = {
  state: ["words", "embeddings", "query", "temperature", "cosine"],
  structure,
  numbers,
  build,
};
export default { ...figure, render: renderFigure(figure) };
