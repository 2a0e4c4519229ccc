// asks for dates.js

import { askFor, renderAsking } from "./shared/asked.js";
import { barCell } from "./shared/bars.js";
import { makeButton } from "./shared/button.js";
import { choiceControl } from "./shared/choice.js";
import { decimals, make } from "./shared/elements.js";
import { softmax } from "./shared/math.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { rebuiltPart } from "./shared/rebuilt.js";
import { wordNode } from "./shared/words.js";
import { createModel } from "./transformer.js";

// The vocabularies of attention_core.dates. PAD, BOS and EOS come before them, as ids 0 to 2.
const SOURCE = " ,-0123456789;ADFJMNOSTWabcdefghilmnoprstuvy–";
const TARGET = "〇一七三九二五八六十四年日星月期至；";
const [PAD, BOS, EOS] = [0, 1, 2];
const NAMES = ["PAD", "BOS", "EOS", ...TARGET];
const MOST = 40;
const BEST = 3;
const HEADS = 4;

const normal = (text) => text.normalize("NFC");
const encode = (text) => [...normal(text)].map((character) => [...SOURCE].indexOf(character) + 3);

// The model, once it is loaded, and a cache of its runs: for each text the ids and, for each step,
// the chances of the next token and the cross-attention weights [layer][head][place].
/** @type {ReturnType<typeof createModel> | null} */
let engine = null;
const runs = new Map();

const use = (manifest, bytes) => {
  engine = createModel(manifest, bytes);
  runs.clear();
};

const runOf = ({ source, opening }) => {
  if (!engine) return opening.source === source ? opening : null;
  if (!runs.has(source)) {
    const { ids, logits, cross } = engine.translate(encode(source), {
      bos: BOS,
      eos: EOS,
      most: MOST,
    });
    runs.set(source, { ids, chances: logits.map(softmax), cross });
  }
  return runs.get(source);
};

const best = (values) =>
  values
    .map((value, i) => [value, i])
    .sort(([a, i], [b, j]) => b - a || i - j)
    .slice(0, BEST);

const filled = (list, empty) => Array.from({ length: BEST }, (_, i) => list[i] ?? empty);

const weightsAt = (heads, head) =>
  head === null
    ? heads[0].map((_, j) => heads.reduce((sum, row) => sum + row[j] / heads.length, 0))
    : heads[head];

const numbers = (state) => {
  const run = runOf(state);
  if (!run) {
    const none = filled([], NaN);
    return {
      weights: [],
      places: filled([], -1),
      looks: none,
      next: filled([], PAD),
      chances: none,
      ids: [],
      said: [],
      whole: NaN,
      count: 0,
    };
  }
  const step = Math.min(state.written, run.chances.length - 1);
  const ids = run.ids.slice(0, state.written);
  const weights = run.cross
    .slice(0, step + 1)
    .map((layers) => weightsAt(layers[state.layer], state.head));
  const looks = best(weights[step]);
  const next = best(run.chances[step]);
  const said = ids.map((id, n) => run.chances[n][id]);
  return {
    weights,
    places: filled(
      looks.map(([, place]) => place),
      -1,
    ),
    looks: filled(
      looks.map(([weight]) => weight),
      NaN,
    ),
    next: next.map(([, id]) => id),
    chances: next.map(([chance]) => chance),
    ids,
    said,
    // A complete text includes its EOS, so the chance of EOS counts as well.
    whole: said.reduce((a, b) => a * b, run.ids.length === step ? run.chances[step][EOS] : 1),
    count: ids.length,
  };
};

// --- in words ------------------------------------------------------------------------------

const visible = (character) => (character === " " ? "␣" : character);
const spell = (ids) =>
  ids
    .map((id) => NAMES[id])
    .filter((name) => name.length === 1)
    .join("");
const lengthOf = (state) => runOf(state)?.ids.length ?? 0;

const say = ({ ids, next, chances, looks, places, said, whole }, state) => {
  if (!ids.length && Number.isNaN(chances[0])) return "The model's numbers are on their way.";
  const ended = ids.length === lengthOf(state);
  const chance = (x) => decimals(x, 3);
  if (ended && ids.length === MOST)
    return `After ${MOST} characters it has found no end, and is stopped.`;
  if (ended) {
    const least = said.indexOf(Math.min(...said));
    if (!ids.length) return "It ends at once: the translation is empty.";
    return said[least] < 0.7
      ? `Done, but it guessed: ${NAMES[ids[least]]}, character ${least + 1}, had only ${chance(said[least])}. In the Chinese text nothing shows that.`
      : `Done, without a doubt: its training made about 0.905 the most that it gives a character, hence ${chance(whole)} for all of them and the end. Sure is not right: it is as sure of dates that do not exist.`;
  }
  const [name, second] = next.map((id) => NAMES[id]);
  const at = visible([...state.source][places[0]]);
  const where = state.head === null ? "its heads look" : "this head looks";
  if (chances[0] < 0.7) {
    return `It hesitates: ${name} has ${chance(chances[0])}, ${second} ${chance(chances[1])}. It will take ${name}, and read it from then on as if it had been sure.`;
  }
  const begin = ids.length
    ? `After ${spell(ids)} comes ${name}`
    : `Nothing is written yet. It begins with ${name}`;
  const look =
    looks[0] >= 0.5
      ? `${where} mostly at ${at}, place ${places[0] + 1}`
      : `${where} most at ${at}, but only with ${chance(looks[0])}`;
  return `${begin}, with chance ${chance(chances[0])}. To choose it, ${look}.`;
};

// --- the text field --------------------------------------------------------------------------

const trouble = (text) => {
  const unknown = [...normal(text)].find((character) => !SOURCE.includes(character));
  if (unknown) {
    const code = Number(unknown.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
    return `The model has never seen “${unknown}” (U+${code}). It knows digits, the letters of English months and weekdays, the space and , - – ;`;
  }
  return text === "" ? "There is nothing to translate yet." : "";
};

const modelFrom = askFor("dates", use);

// One line for each step: the character written, and the source shaded by its weights.
const lines = (view, go) =>
  rebuiltPart(
    view,
    (_, state) => [runOf(state)],
    (own, _, state) => {
      const run = runOf(state);
      const source = [...state.source];
      const steps = run?.chances ?? [];
      return make(
        "div.live-text-lines",
        {
          style: `--places:${source.length}`,
          role: "group",
          "aria-label": "What is written, and where the model looked",
        },
        steps.map((_, step) => {
          const name = step < run.ids.length ? NAMES[run.ids[step]] : "end";
          const written = make("span.written", {}, wordNode(name));
          const chance = make("small.chance");
          const cells = source.map((character) => make("span", {}, visible(character)));
          const line = make(
            "div.line",
            { role: "img", onclick: () => go(step) },
            written,
            chance,
            make("span.places", {}, cells),
          );
          own.each(({ weights, count }) => {
            const row = weights[step];
            line.classList.toggle("now", step === weights.length - 1);
            line.classList.toggle("later", !row);
            written.classList.toggle("next", step >= count);
            if (!row) return line.setAttribute("aria-label", "not written yet");
            const sure = run.chances[step][run.ids[step] ?? EOS];
            chance.textContent = decimals(sure, 2);
            chance.classList.toggle("doubt", sure < 0.7);
            const top = row.indexOf(Math.max(...row));
            row.forEach((weight, j) => {
              cells[j].style.setProperty("--share", `${Math.round(40 * weight)}%`);
              cells[j].classList.toggle("most", j === top);
            });
            line.setAttribute(
              "aria-label",
              `${name}: looks most at ${source[top] === " " ? "space" : source[top]}, ${decimals(row[top], 2)}`,
            );
          });
          return line;
        }),
      );
    },
  );

// A character with its neighbours, since the same character may occur several times.
const inPlace = (source, place) => {
  if (place < 0) return ["–"];
  const characters = [...source].map(visible);
  const beside = (at) => make("span.beside", {}, characters[at] ?? "");
  return [beside(place - 1), make("strong", {}, characters[place]), beside(place + 1)];
};

const ranked = (view, title, path, kind, nameOf) =>
  make(
    `table.live-ranked.${kind}`,
    {},
    make("caption", {}, title),
    make(
      "tbody",
      {},
      Array.from({ length: BEST }, (_, n) => {
        const head = make("th", { scope: "row" });
        view.each((all, state) => head.replaceChildren(...nameOf(all, state, n)));
        return make("tr", {}, head, barCell(view, `${path}.${n}`));
      }),
    ),
  );

const EXAMPLES = ["24 November 2026", "3–7 May 2026", "31 February 2026", "hello"];

const build = (view, model, again) => {
  const reading = resultSentence(view, say);
  const note = make("p.live-note");
  // A problem with the text or the model is announced in place of the result.
  const tell = (text) => {
    note.textContent = text;
    view.announce(text || reading.textContent);
  };
  const result = make("div.live-result");
  const busy = (yes) =>
    yes ? result.setAttribute("aria-busy", "true") : result.removeAttribute("aria-busy");

  // The translation is written slowly enough to watch. Touching the slider stops it.
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let clock;
  const stop = () => {
    if (clock !== undefined) busy(false);
    clearInterval(clock);
    clock = undefined;
  };
  const write = () => {
    stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return view.set("written", MOST);
    view.set("written", 0);
    busy(true);
    clock = setInterval(() => {
      if (view.get("written") >= lengthOf(view.state())) return stop();
      view.set("written", view.get("written") + 1);
    }, 160);
  };
  const go = (step) => {
    stop();
    view.set("written", step);
  };

  const withModel = async (then) => {
    if (!engine) {
      busy(true);
      tell("The model’s 173,440 numbers are on their way: 350 KB.");
      try {
        await modelFrom(model);
        tell("");
      } catch {
        tell("The model’s numbers did not come. Without them only the first text can be shown.");
        return;
      } finally {
        busy(false);
      }
      again();
    }
    then();
  };

  let wanted = "";
  const ask = (text) => {
    stop();
    wanted = normal(text);
    const found = trouble(wanted);
    tell(found);
    result.classList.toggle("stale", found !== "");
    if (found) return;
    withModel(() => {
      if (trouble(wanted)) return; // the reader has typed on
      if (view.get("source") !== wanted) view.set("source", wanted);
      write();
    });
  };
  const field = make("input", {
    id: `${view.id}-source`,
    type: "text",
    maxlength: MOST,
    "data-control": "source",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    oninput: () => ask(field.value),
  });
  let seen = null;
  view.each((_, { source }) => {
    if (source === seen) return;
    seen = source;
    result.classList.remove("stale");
    if (normal(field.value) !== source) field.value = source;
  });
  view.each((_, state) => {
    if (!runOf(state)) withModel(() => {}); // the kernel has set another text
  });
  const examples = EXAMPLES.map((text) => {
    const button = makeButton(text, () => {
      field.value = text;
      ask(text);
    });
    button.dataset.control = "source";
    return button;
  });

  const slider = make("input", {
    id: `${view.id}-written`,
    type: "range",
    min: 0,
    step: 1,
    "data-control": "written",
    onpointerdown: () => stop(),
    onkeydown: ({ key }) => key !== "Tab" && stop(),
    oninput: () => go(Number(slider.value)),
  });
  view.each(({ count }, state) => {
    slider.max = lengthOf(state);
    slider.value = count;
    slider.setAttribute("aria-valuetext", `${count} of ${slider.max} characters`);
  });
  const replay = makeButton("again", write);
  replay.dataset.control = "written";
  replay.classList.add("live-replay");

  /** @type {[number | null, string][]} */
  const heads = Array.from({ length: HEADS }, (_, head) => [head, `${head}`]);
  result.append(
    make(
      "div.live-columns.live-translation",
      {},
      lines(view, go),
      make(
        "div",
        {},
        make(
          "div.live-rankings",
          {},
          ranked(view, "It looks most at", "looks", "looks", ({ places }, { source }, n) =>
            inPlace(source, places[n]),
          ),
          ranked(view, "Next comes", "chances", "chances", ({ next, chances }, _, n) => [
            wordNode(Number.isNaN(chances[n]) ? "–" : next[n] === EOS ? "end" : NAMES[next[n]]),
          ]),
        ),
        choiceControl(view, "layer", {
          label: "layer",
          options: [
            [0, "0"],
            [1, "1"],
          ],
        }),
        choiceControl(view, "head", { label: "head", options: [...heads, [null, "mean"]] }),
        make(
          "div.live-control",
          {},
          make("label", { for: slider.id }, "written"),
          slider,
          liveNumber(view, "count", { digits: 0 }),
          replay,
        ),
        make("p.live-whole", {}, "Chance of the text so far: ", liveNumber(view, "whole")),
      ),
    ),
    reading,
  );
  return [
    make(
      "p.live-lead",
      {},
      "Type a date in English, or what looks like one. The model runs in your browser.",
    ),
    make("div.live-control.live-field", {}, make("label", { for: field.id }, "English"), field),
    make("div.live-examples", { role: "group", "aria-label": "Examples" }, examples),
    note,
    result,
  ];
};

const figure = { state: ["source", "layer", "head", "written", "opening"], numbers };

export default { ...figure, use, render: renderAsking({ ...figure, build }) };
