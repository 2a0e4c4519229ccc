import { makeButton } from "./shared/button.js";
import { choiceControl } from "./shared/choice.js";
import { make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { maskTable, shadedGrid } from "./shared/mask.js";
import { matmul, scaleMatrix, softmax, transpose } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";

const noise = 1e-9; // rounding errors stay below it; a changed word moves an output far more

const attend = (x, mask) => {
  const scores = scaleMatrix(matmul(x, transpose(x)), 1 / Math.sqrt(x[0].length));
  const weights = scores.map((row, i) =>
    softmax(row.map((score, j) => (mask[i][j] ? score : -Infinity))),
  );
  return { weights, contexts: matmul(weights, x) };
};

const numbers = ({ embeddings, mask, layers }) => {
  const stack = (x) => {
    for (let layer = 0; layer < layers; layer += 1) x = attend(x, mask).contexts;
    return x;
  };
  // Change one input and see which outputs move: add 1 to its first number, up to 2 to its last.
  const width = embeddings[0].length;
  const before = stack(embeddings);
  const columns = embeddings.map((_, j) => {
    const changed = embeddings.map((row, i) =>
      i === j ? row.map((x, n) => x + 1 + (width > 1 ? n / (width - 1) : 0)) : row,
    );
    return stack(changed).map((row, i) =>
      Math.max(...row.map((x, n) => Math.abs(x - before[i][n]))),
    );
  });
  const reach = transpose(columns);
  const { weights } = attend(embeddings, mask);
  const count = (test) =>
    reach.reduce((sum, row, i) => sum + row.filter((x, j) => test(x, i, j)).length, 0);
  return {
    weights,
    reach,
    sums: weights.map((row) => row.reduce((a, b) => a + b, 0)),
    permitted: count((_, i, j) => mask[i][j]),
    reached: count((x) => x > noise),
    future: count((x, i, j) => x > noise && j > i),
  };
};

const say = ({ reach, sums, future, permitted }, { words, mask, layers }) => {
  if (permitted === 0)
    return "All is forbidden: every row adds up to 0, and each output is a row of zeros.";
  const name = (i) => `“${words[i]}”`;
  // The pair of words farthest apart, of those that are reached and pass the test.
  const farthest = (test) =>
    reach
      .flatMap((row, i) =>
        row.map((_, j) => [i, j]).filter(([, j]) => row[j] > noise && test(i, j)),
      )
      .reduce(
        (best, [i, j]) => (best && Math.abs(best[0] - best[1]) > Math.abs(i - j) ? best : [i, j]),
        null,
      );
  const said = [];
  const empty = words.map((_, i) => i).filter((i) => sums[i] === 0);
  if (empty.length) {
    said.push(
      empty.length === 1
        ? `${name(empty[0])} may look at nothing: its weights add up to 0, and its output is zero.`
        : `${empty.map(name).join(", ")} may look at nothing: their outputs are zero.`,
    );
  }
  if (future) {
    // Such a pair exists: without a permitted cell above the diagonal, no layers leak the future.
    const [i, j] = farthest((m, n) => n > m && mask[m][n]).map(name);
    said.push(
      `${empty.length ? "The" : "Every row adds up to 1, and yet the"} future leaks: ` +
        `${i} may look at ${j}, which stands after it.`,
    );
  } else {
    said.push("Nothing stands above the stairs: the future does not change the past.");
  }
  const detour = farthest((i, j) => !mask[i][j] && i !== j && (j > i || !future));
  const own = farthest((i, j) => !mask[i][j] && i === j);
  if (detour) {
    const [i, j] = detour.map(name);
    said.push(
      `${i} may not look at ${j}, but over ${layers} layers ${j} reaches it through other words.`,
    );
  } else if (own) {
    said.push(`${name(own[0])} may not look at itself, but its query still moves its output.`);
  }
  return said.join(" ");
};

const presets = {
  all: () => true,
  causal: (i, j) => j <= i,
  padding: (_, j, n) => j < Math.ceil(n / 2),
  window: (i, j) => j === i || j === i - 1,
};

const build = (view) => {
  const { words } = view.state();
  const all = words.map((_, i) => i);
  const painter = maskTable(view, "mask", {
    path: "weights",
    words,
    sums: "sums",
    caption: "Weights: a row looks at its columns",
    label: (row, column) => `${row} may look at ${column}`,
  });
  const map = shadedGrid(view, {
    path: "reach",
    words,
    role: "muted",
    caption: "Reach: how far each output moves",
    shade: (x) => (x > noise ? 0.15 + 0.6 * Math.min(1, x / 2.2) : 0),
  });
  const cells = [...map.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")]);
  view.each(({ reach }, { mask }) => {
    for (const i of all) {
      for (const j of all) {
        cells[i][j].classList.toggle("still", reach[i][j] <= noise);
        cells[i][j].classList.toggle("detour", reach[i][j] > noise && !mask[i][j]);
      }
    }
  });
  for (const table of [painter, map]) {
    table.querySelectorAll("tbody tr").forEach((row, i) => {
      const line = row.querySelectorAll("td");
      if (i + 1 === all.length) return;
      line[i].classList.add("stair-right");
      line[i + 1].classList.add("stair-below");
    });
  }
  const buttons = Object.entries(presets).map(([name, may]) => {
    const wanted = all.map((i) => all.map((j) => may(i, j, all.length)));
    const button = makeButton(name, () => view.set("mask", wanted));
    button.dataset.control = "preset";
    view.each((_, { mask }) => {
      button.setAttribute(
        "aria-pressed",
        String(all.every((i) => all.every((j) => mask[i][j] === wanted[i][j]))),
      );
    });
    return button;
  });
  const counted = (path) => liveNumber(view, path, { digits: 0 });
  const dashed = make("span", {}, "Dashed: reached though forbidden.");
  view.each(({ reach }, { mask }) => {
    dashed.hidden = !reach.some((row, i) => row.some((x, j) => x > noise && !mask[i][j]));
  });
  const reading = resultSentence(view, say);
  reading.classList.add("tall");
  return [
    make(
      "p.live-lead",
      {},
      "Tap a cell to forbid or allow it, or drag over several (keys: arrows and space). " +
        "Hatched means “may not look”.",
    ),
    make("div.live-buttons", { role: "group", "aria-label": "Masks to start from" }, buttons),
    choiceControl(view, "layers", {
      label: "layers",
      options: [1, 2, 3, 4, 5].map((n) => [n, String(n)]),
    }),
    make(
      "p.live-after",
      {},
      "Permitted ",
      counted("permitted"),
      ", reached ",
      counted("reached"),
      ` of ${words.length ** 2}. From the future (above the stairs) `,
      counted("future"),
      ". ",
      dashed,
    ),
    make("div.live-columns.live-stairs", {}, painter, map),
    reading,
  ];
};

const structure = ({ words }) => words;
const figure = { state: ["words", "embeddings", "mask", "layers"], structure, numbers, build };
export default { ...figure, render: renderFigure(figure) };
