import { numbers, product, shapesOf } from "./shapes_numbers.js";
import { barCell } from "./shared/bars.js";
import { makeButton } from "./shared/button.js";
import { liveCount, liveShape } from "./shared/counts.js";
import { dialControl } from "./shared/dial.js";
import { decimals, make } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { toggleControl } from "./shared/toggle.js";
import { wholeNumber } from "./shared/whole.js";

const TEXT = {
  src_embedding: [
    "source: embedding",
    "Each token picks its row of the table: no matrices are multiplied.",
  ],
  encoder_self_attention: [
    "self-attention",
    "Each source token asks all of them; q, k and v come from the same rows.",
  ],
  encoder_feed_forward: ["feed-forward", "Each token alone: wider, ReLU, and back."],
  memory: [
    "memory",
    "What the encoder hands over. Each decoder layer makes its own k and v of it.",
  ],
  tgt_embedding: [
    "target: embedding",
    "The target as far as it is known, shifted right. S plays no part until cross-attention.",
  ],
  decoder_self_attention: [
    "masked self-attention",
    "The mask sets weights to 0. They are computed all the same.",
  ],
  cross_attention: [
    "cross-attention",
    "A row for each target token, a column for each source token.",
  ],
  decoder_feed_forward: ["feed-forward", "As in the encoder, with numbers of its own."],
  output: ["projection, softmax", "Each row meets each row of the table: a score for every word."],
};
const PARTS = Object.keys(TEXT);
// Row and column of each box: the memory lies beside the cross-attention that reads it.
const PLACE = {
  src_embedding: "6 / 1",
  encoder_self_attention: "5 / 1",
  encoder_feed_forward: "4 / 1",
  memory: "3 / 1",
  tgt_embedding: "5 / 3",
  decoder_self_attention: "4 / 3",
  cross_attention: "3 / 3",
  decoder_feed_forward: "2 / 3",
  output: "1 / 3",
};
const KINDS = {
  tables: "tables, %",
  attention: "attention",
  feed_forward: "feed-forward",
  norms: "norms",
};
const say = (n, state) => {
  const { part, num_heads: H, d_model: d, tie_embeddings: tied } = state;
  const here = n.parts[part];
  const whole = (x) => wholeNumber(x);
  const most = Object.keys(n.kinds).reduce((a, b) => (n.kinds[b] > n.kinds[a] ? b : a));
  const holders = {
    tables: "tables",
    attention: "attention layers",
    feed_forward: "feed-forward layers",
    norms: "norms",
  };
  const where = `Most numbers are learned in the ${holders[most]}: ${decimals(n.kinds[most], 1)} %.`;
  if (here.q) {
    const [, , rows, columns] = here.weights;
    const ratio = (H * columns) / d;
    const bulk =
      Math.abs(ratio - 1) < 1e-9
        ? "as many numbers as flow out"
        : `${decimals(ratio, ratio < 1 ? 2 : 1)} times the numbers that flow out`;
    const tables = H === 1 ? "1 table" : `${H} tables`;
    const same = H === 1 ? "More heads" : "One head";
    return `${tables} of ${whole(rows)} × ${whole(columns)} weights for each text: ${bulk}. ${same} would learn just as much: ${whole(here.own)}.`;
  }
  if (here.inner) {
    const tokens = here.in[0] * here.in[1];
    return `The same numbers treat ${tokens === 1 ? "the one token" : `all ${whole(tokens)} tokens`}: longer texts cost more and learn no more. ${where}`;
  }
  if (part === "memory")
    return `Nothing is learned here; all decoder layers read the same rows. ${where}`;
  if (part === "output")
    return `One score for each row and each of ${whole(here.table[0])} tokens makes ${whole(product(here.out))} scores. ${where}`;
  if (tied) return `Tied: this is the table of the output, and counted there. ${where}`;
  return where;
};

// The sizes of a model, and lengths of texts that suit it.
const PRESETS = {
  "toy machine": {
    src_vocab_size: 11,
    tgt_vocab_size: 11,
    d_model: 4,
    num_heads: 2,
    num_layers: 2,
    d_ff: 16,
    tie_embeddings: true,
    batch_size: 2,
    src_length: 5,
    tgt_length: 4,
  },
  "date translator": {
    src_vocab_size: 48,
    tgt_vocab_size: 21,
    d_model: 64,
    num_heads: 4,
    num_layers: 2,
    d_ff: 128,
    tie_embeddings: false,
    batch_size: 64,
    src_length: 16,
    tgt_length: 12,
  },
  "base model": {
    src_vocab_size: 37000,
    tgt_vocab_size: 37000,
    d_model: 512,
    num_heads: 8,
    num_layers: 6,
    d_ff: 2048,
    tie_embeddings: true,
    batch_size: 1,
    src_length: 32,
    tgt_length: 24,
  },
};
const SIZES = Object.keys(PRESETS["toy machine"]);
const OF_TEXT = ["batch_size", "src_length", "tgt_length"];
const LENGTHS = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512];
const divisors = (d) => LENGTHS.filter((n) => n <= 32 && d % n === 0);

// A phone shows only the first word; a screen reader reads both.
const twoWords = (name) => {
  const [first, ...rest] = name.split(" ");
  return [first, make("span.live-second", {}, ` ${rest.join(" ")}`)];
};

const build = (view) => {
  // Sizes are set one by one and checked each time. With one head and untied tables all fit.
  const choose = (sizes) => {
    view.set("tie_embeddings", false);
    view.set("num_heads", 1);
    for (const [key, value] of Object.entries(sizes)) {
      if (key !== "num_heads" && key !== "tie_embeddings") view.set(key, value);
    }
    view.set("num_heads", sizes.num_heads);
    view.set("tie_embeddings", sizes.tie_embeddings);
  };
  const presets = Object.entries(PRESETS).map(([name, sizes]) => {
    const button = makeButton(twoWords(name), () => choose(sizes));
    button.dataset.control = "preset";
    view.each((_, state) => {
      const same = Object.entries(sizes).every(
        ([key, value]) => OF_TEXT.includes(key) || state[key] === value,
      );
      button.setAttribute("aria-pressed", String(same));
    });
    return button;
  });
  const own = (state, changes) =>
    choose({
      ...Object.fromEntries(SIZES.map((key) => [key, state[key]])),
      ...changes,
    });
  const set = (key) => (value) => view.set(key, value);
  const dials = [
    dialControl(view, "batch_size", {
      label: twoWords("B texts"),
      values: () => [1, 2, 4, 8, 16, 32, 64],
      set: set("batch_size"),
    }),
    dialControl(view, "src_length", {
      label: twoWords("S source"),
      values: () => LENGTHS,
      set: set("src_length"),
    }),
    dialControl(view, "tgt_length", {
      label: twoWords("L target"),
      values: () => LENGTHS,
      set: set("tgt_length"),
    }),
    dialControl(view, "num_layers", {
      label: twoWords("N layers"),
      values: () => [1, 2, 3, 4, 6, 8, 12, 24],
      set: set("num_layers"),
    }),
    dialControl(view, "num_heads", {
      label: twoWords("H heads"),
      values: (state) => divisors(state.d_model),
      set: set("num_heads"),
    }),
    dialControl(view, "d_model", {
      label: twoWords("d width"),
      values: () => [4, 8, 16, 32, 64, 128, 256, 512, 1024],
      set: (d, state) =>
        own(state, {
          d_model: d,
          d_ff: Math.max(1, Math.round((state.d_ff * d) / state.d_model)),
          num_heads: Math.max(...divisors(d).filter((n) => n <= Math.max(1, state.num_heads))),
        }),
    }),
    dialControl(view, "d_ff", {
      label: twoWords("d_ff inside"),
      values: ({ d_model: d }) => [d, 2 * d, 3 * d, 4 * d, 6 * d, 8 * d],
      set: set("d_ff"),
    }),
    dialControl(view, "tgt_vocab_size", {
      label: twoWords("V tokens"),
      values: () => [11, 100, 1000, 10000, 37000, 100000],
      text: ({ src_vocab_size: a, tgt_vocab_size: b }) =>
        a === b ? wholeNumber(a) : `${wholeNumber(a)}, ${wholeNumber(b)}`,
      set: (V, state) => own(state, { src_vocab_size: V, tgt_vocab_size: V }),
    }),
  ];
  const tie = toggleControl(view, "tie_embeddings", {
    label: [make("span.live-second", {}, "E: "), "one table"],
  });
  view.each((_, state) => {
    /** @type {HTMLInputElement} */ (tie.querySelector("input")).disabled =
      state.src_vocab_size !== state.tgt_vocab_size;
  });

  const axes = shapesOf(view.state());
  /** @type {(part: string, key: string, role?: string) => HTMLElement} */
  const shape = (part, key, role) =>
    liveShape(view, `parts.${part}.${key}`, { axes: axes[part][key].length, role });
  const title = (part) => TEXT[part][0];
  const box = (part) => {
    const kind = part.includes("attention") ? "mixes" : part === "memory" ? "plain" : "alone";
    const badge = make("span.live-badge", { title: "one table" }, "E");
    view.each((_, state) => {
      badge.hidden = !state.tie_embeddings || !axes[part].table;
    });
    const size = (key) => liveCount(view, `parts.${part}.${key}.2`);
    const button = make(
      `button.live-stage.${kind}`,
      {
        type: "button",
        style: `grid-area: ${PLACE[part]}`,
        "data-control": "part",
        onclick: () => view.set("part", part),
      },
      badge,
      make("span", {}, title(part)),
      kind === "mixes"
        ? shape(part, "weights", "weights")
        : axes[part].inner
          ? make("span.live-shape", {}, size("in"), "→", size("inner"), "→", size("out"))
          : shape(part, "out"),
    );
    view.each((_, state) => button.setAttribute("aria-pressed", String(state.part === part)));
    return button;
  };
  const band = (name) =>
    make(
      `div.live-band.${name}`,
      {},
      make("span", {}, `${name} × `, liveCount(view, "whole.layers")),
    );
  const shares = make(
    "table.live-list.live-kinds",
    {},
    make("caption", {}, "learned: ", liveCount(view, "whole.learned")),
    make(
      "tbody",
      {},
      Object.entries(KINDS).map(([kind, label]) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, label),
          barCell(view, `kinds.${kind}`, { digits: 1, whole: 100 }),
        ),
      ),
      make(
        "tr",
        {},
        make("td", { colspan: 2 }, "multiplied: ", liveCount(view, "whole.multiplications")),
      ),
    ),
  );
  const drawing = make(
    "div.live-machine",
    {
      role: "group",
      "aria-label": "the machine, from the source, bottom left, to the chances, top right",
    },
    band("encoder"),
    band("decoder"),
    PARTS.map(box),
    make(
      "div.live-bridge",
      { "aria-hidden": "true" },
      make("span.key", {}, "k"),
      "→",
      make("span.value", {}, "v"),
    ),
    shares,
  );

  const panel = (part) => {
    const count = (label, key) => [label, liveCount(view, `parts.${part}.${key}`)];
    const table = axes[part].table && ["table", shape(part, "table")];
    const rows = axes[part].q
      ? [
          ["q", shape(part, "q", "query")],
          ["k", shape(part, "k", "key")],
          ["v", shape(part, "v", "value")],
          ["weights", shape(part, "weights", "weights")],
        ]
      : [
          axes[part].in && ["in", shape(part, "in")],
          table,
          axes[part].inner && ["inside", shape(part, "inner")],
          ["out", shape(part, "out")],
        ].filter(Boolean);
    if (axes[part].q || axes[part].inner)
      rows.push(count("learned", "own"), count("in all layers", "learned"));
    else rows.push(count("learned", "learned"));
    rows.push(
      ["share, %", liveNumber(view, `parts.${part}.share`, { digits: 1 })],
      count("multiplied", "multiplications"),
    );
    const side = {
      encoder_feed_forward: "encoder: ",
      decoder_feed_forward: "decoder: ",
    };
    const place = make(
      "div.live-panel",
      {},
      make(
        "p",
        {},
        make("strong", {}, `${side[part] || ""}${title(part)}`),
        make("span.live-about", {}, TEXT[part][1]),
      ),
      make(
        "table.live-facts",
        {},
        make(
          "tbody",
          {},
          rows.map(([label, value]) =>
            make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, value)),
          ),
        ),
      ),
    );
    view.each((_, state) => place.classList.toggle("open", state.part === part));
    return place;
  };
  const step = (by) =>
    view.set("part", PARTS[(PARTS.indexOf(view.get("part")) + by + PARTS.length) % PARTS.length]);
  /** @type {[string, number][]} */
  const directions = [
    ["←", -1],
    ["→", 1],
  ];
  const steps = directions.map(([label, by]) => {
    const button = makeButton(label, () => step(by));
    button.dataset.control = "step";
    button.setAttribute("aria-label", by < 0 ? "back" : "next");
    return button;
  });
  return [
    make("p.live-lead", {}, "Which sliders change “learned”?"),
    make("div.live-row", { role: "group", "aria-label": "ready-made sizes" }, presets, tie),
    make("div.live-dials", {}, dials),
    make(
      "div.live-columns.live-tops",
      {},
      drawing,
      make(
        "div.live-open",
        {},
        make("div.live-row.live-steps", {}, steps),
        make("div.live-panels", {}, PARTS.map(panel)),
      ),
    ),
    resultSentence(view, say),
  ];
};

const figure = { state: [...SIZES, "part"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
