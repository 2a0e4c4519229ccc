// asks for heads_trained.js
// asks for heads_untrained.js

import { askFor, renderAsking } from "./shared/asked.js";
import { choiceControl } from "./shared/choice.js";
import { decimals, make } from "./shared/elements.js";
import { arrowOf } from "./shared/keys.js";
import { mapHeight, mapLines, mapPicture } from "./shared/maps.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { rebuiltPart } from "./shared/rebuilt.js";
import {
  HEADS,
  isMark,
  isWord,
  keyOf,
  LAYERS,
  mapOf,
  numbers,
  pickedIn,
  SENTENCES,
  STEPS,
  store,
  tokensOf,
  use,
} from "./trained_heads_numbers.js";

// --- in words --------------------------------------------------------------------------------

// The name of a token: “one”, or the second “saw” where the same token occurs twice.
const called = (tokens, at) => {
  if (isMark(tokens[at])) return tokens[at];
  const same = tokens.map((token, i) => (token === tokens[at] ? i : -1)).filter((i) => i >= 0);
  const nth = same.length > 1 ? ["the first ", "the second "][same.indexOf(at)] : "";
  return `${nth}“${tokens[at]}”`;
};

const upper = (text) => text[0].toUpperCase() + text.slice(1);

// What is said of the largest weight holds for all weights of its step, from w - 0.0025 to
// w + 0.0025.
const looks = ({ row, most, even, times }, where) => {
  const [largest, share] = [decimals(most, 2), decimals(even, 2)];
  const below = (bound) => (Math.floor(most * STEPS) + 1) / STEPS <= bound * even;
  const least = Math.floor(Math.min(...row) * STEPS) / STEPS;
  if (below(1.25) && least >= 0.75 * even) {
    return `looks nearly evenly at all tokens: the largest weight is ${largest}, at ${where}; an even share would be ${share}.`;
  }
  const low = below(1.5) ? "less than 1.5 times" : "less than twice";
  const ratio = below(2) ? low : `about ${times} times`;
  return `looks most at ${where}: ${largest}, ${ratio} the even share of ${share}.`;
};

const say = (shown, state) => {
  const { row, top, word } = shown;
  if (Number.isNaN(top)) return "These weights are not loaded yet.";
  const tokens = tokensOf(state);
  const at = pickedIn(state);
  const place = (other) => (other === at ? "itself" : called(tokens, other));
  const start = state.trained ? "" : "Untrained: ";
  const name = called(tokens, at);
  const text = `${start}${state.trained ? upper(name) : name} ${looks(shown, place(top))}`;
  if (isWord(tokens[top]) || !state.trained) return text;
  return `${text} Among the words it looks most at ${place(word)}: ${decimals(row[word], 2)}.`;
};

// What to try next. The first moves are about the initial map.
const hint = (state) => {
  const { sentence, layer, head, trained } = state;
  const [ONE, STEP] = [5, 6];
  const first = sentence === 0 && layer === 3 && head === 1;
  if (!first) return "Tap a word on the left, another head or another sentence.";
  if (!trained)
    return "Untrained, no weight reaches twice the even share. Switch back and pick another head.";
  if (pickedIn(state) === ONE)
    return "Guess first: does “step” look back at “one”? Then tap “step”.";
  if (pickedIn(state) === STEP) {
    const back = mapOf(state)?.[STEP][ONE] ?? NaN;
    return `It gives “one” only ${decimals(back, 2)}. Now compare with the untrained model.`;
  }
  return "Tap any word on the left, or pick another head.";
};

// --- the parts -------------------------------------------------------------------------------

const sentenceMenu = (view) => {
  const menu = make(
    "select",
    {
      "aria-label": "sentence",
      "data-control": "sentence",
      onchange: () => {
        const chosen = Number(menu.value);
        view.set("query", SENTENCES[chosen][1]);
        view.set("sentence", chosen);
      },
    },
    SENTENCES.map(([text], n) => make("option", { value: n }, text)),
  );
  view.each((_, { sentence }) => {
    menu.value = sentence;
  });
  return make("div.live-control.live-menu", {}, menu);
};

// All heads as small maps: one row for each layer. Arrow keys move to the neighbour.
const headGrid = (view) => {
  const name = `${view.id}-head`;
  /** @type {HTMLInputElement[][]} */
  const inputs = [];
  const thumb = (layer, head) => {
    const input = make("input", {
      type: "radio",
      name,
      "data-control": "head",
      "aria-label": `layer ${layer}, head ${head}`,
      onchange: () => {
        view.set("layer", layer);
        view.set("head", head);
      },
      onkeydown: (event) => {
        const [right, up] = arrowOf(event) ?? [0, 0];
        if (!(right || up)) return;
        event.preventDefault();
        const next = inputs[layer - up]?.[head + right];
        next?.focus();
        next?.click();
      },
    });
    inputs[layer] ??= [];
    inputs[layer][head] = input;
    const own = (state) => mapOf({ ...state, layer, head });
    // Before its map is there, a head is a dotted frame with its number.
    const absent = make("span.live-absent", { "aria-hidden": "true" }, head);
    const label = make("label.live-thumb", {}, input, mapPicture(view, own), absent);
    view.each((_, state) => {
      input.checked = state.layer === layer && state.head === head;
      label.classList.toggle("empty", !own(state));
    });
    return label;
  };
  const number = (n) => make("span", { "aria-hidden": "true" }, n);
  const note = make("p.live-heads-note");
  view.each((_, state) => {
    note.textContent = store[keyOf(state)]
      ? "all-MiniLM-L6-v2, weights to within 0.0025"
      : "Dotted: not loaded yet. Tap any head.";
  });
  const count = (length) => Array.from({ length }, (_, n) => n);
  return make(
    "fieldset.live-heads",
    {},
    make("legend", {}, "Head"),
    make(
      "div.live-heads-grid",
      {},
      make("span"),
      count(HEADS).map((head) => number(`${head}`)),
      count(LAYERS).map((layer) => [
        number(`${layer}`),
        ...count(HEADS).map((head) => thumb(layer, head)),
      ]),
    ),
    note,
  );
};

// The sentence twice: on the left to pick a word, on the right with the weights that it gives.
const words = (view, tokens) => {
  const name = `${view.id}-word`;
  const queries = tokens.map((token, at) => {
    const input = make("input", {
      type: "radio",
      name,
      "data-control": "word",
      "aria-label": `${at}, ${token}`,
      onchange: () => view.set("query", at),
    });
    const label = make("label.live-token", {}, input, make("span.token", {}, token));
    view.each((_, state) => {
      const here = pickedIn(state) === at;
      input.checked = here;
      label.classList.toggle("picked", here);
    });
    return label;
  });
  const keys = tokens.map((token, at) => {
    const line = make(
      "div.live-token",
      { onclick: () => view.set("query", at) },
      make("span.token", {}, token),
      liveNumber(view, `row.${at}`, { digits: 2 }),
    );
    view.each(({ row, top }) => {
      line.style.setProperty("--share", `${Math.round(40 * (row[at] || 0))}%`);
      line.classList.toggle("least", row[at] < 0.005);
      line.classList.toggle("most", at === top);
    });
    return line;
  });
  const lines = mapLines(view, {
    queries: tokens.length,
    keys: tokens.length,
    weightsOf: mapOf,
    picked: ({ row }, state) => ({ side: "query", at: pickedIn(state), shares: row }),
  });
  return make(
    "div.live-pairs",
    { style: mapHeight(tokens.length) },
    make("fieldset.live-side.query-side", {}, make("legend.query", {}, "this word"), queries),
    lines,
    make(
      "div.live-side.key-side",
      { role: "group", "aria-label": "looks at" },
      make("span.live-side-name.key", { "aria-hidden": "true" }, "looks at"),
      keys,
    ),
  );
};

const asked = {
  trained: askFor("heads_trained", use),
  untrained: askFor("heads_untrained", use),
};

const build = (view, model, again) => {
  const lead = make("p.live-lead.live-hint");
  const part = make("div.live-map.live-trained");
  const trouble = "The other maps did not come. Only the first can be shown.";
  // After a failure, the state for which nothing came: the reader's next move tries again.
  let failed = "";
  const signed = (state) => JSON.stringify({ ...state, opening: null });
  // A map that is not there yet is fetched, with all others of the same model.
  const load = async (kind) => {
    part.setAttribute("aria-busy", "true");
    try {
      await asked[kind](model);
    } catch {
      failed = signed(view.state());
      view.announce(trouble);
    } finally {
      part.removeAttribute("aria-busy");
    }
    again();
  };
  view.each((_, state) => {
    if (mapOf(state)) {
      failed = "";
      lead.textContent = hint(state);
    } else if (signed(state) === failed) {
      lead.textContent = trouble;
    } else {
      lead.textContent = "The maps are on their way: 70 KB.";
      if (!part.hasAttribute("aria-busy")) load(keyOf(state));
    }
  });
  part.append(
    make(
      "div.live-map-controls",
      {},
      lead,
      sentenceMenu(view),
      make(
        "div.live-heads-top",
        {},
        make("span", { "aria-hidden": "true" }, "layer ↓ head →"),
        choiceControl(view, "trained", {
          label: "Model",
          options: [
            [true, "trained"],
            [false, "untrained"],
          ],
        }),
      ),
      headGrid(view),
    ),
    rebuiltPart(
      view,
      (_, { sentence }) => [sentence],
      (own, _, state) => words(own, tokensOf(state)),
    ),
    resultSentence(view, say),
  );
  return part;
};

const figure = {
  state: ["sentence", "layer", "head", "trained", "query", "opening"],
  numbers,
  build,
};
export default { ...figure, use, say, render: renderAsking(figure) };
