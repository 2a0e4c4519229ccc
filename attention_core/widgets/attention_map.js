import { choiceControl } from "./shared/choice.js";
import { decimals, make, valueAt } from "./shared/elements.js";
import { renderFigure } from "./shared/figure.js";
import { mapHeight, mapLines, mapPicture } from "./shared/maps.js";
import { liveNumber, resultSentence } from "./shared/numbers.js";
import { rebuiltPart } from "./shared/rebuilt.js";
import { wordNode } from "./shared/words.js";

const shownMap = ({ maps, kind }) => maps.find(({ name }) => name === kind);

// A map with fewer tokens may not have the one that was picked in another map.
const picks = (state) => {
  const { queries, keys } = shownMap(state);
  return {
    query: Math.min(state.query, queries.length - 1),
    key: Math.min(state.key, keys.length - 1),
  };
};

const numbers = (state) => {
  const weights = shownMap(state).weights[state.layer][state.head];
  const { query, key } = picks(state);
  const row = weights[query];
  const column = weights.map((line) => line[key]);
  const entropy = row.reduce((sum, w) => sum - (w > 0 ? w * Math.log(w) : 0), 0);
  return {
    row,
    column,
    spread: row.some((w) => w > 0) ? Math.exp(entropy) : 0,
    received: column.reduce((a, b) => a + b, 0),
  };
};

// --- in words ------------------------------------------------------------------------------

const visible = (token) => (token === " " ? "␣" : token);
const ORDER = ["first", "second", "third", "fourth", "fifth", "sixth"];

// The name of a token: “N”, or the third “2” where the same token occurs several times.
const called = (tokens, at) => {
  const token = tokens[at];
  const same = tokens.map((other, i) => (other === token ? i : -1)).filter((i) => i >= 0);
  const name = token === " " ? "space" : ["BOS", "EOS"].includes(token) ? token : `“${token}”`;
  const nth = same.indexOf(at);
  if (same.length > 1) return `the ${ORDER[nth] ?? `${nth + 1}th`} ${name}`;
  return token === " " ? "the space" : name;
};

const upper = (text) => text[0].toUpperCase() + text.slice(1);

const INTRODUCTIONS = {
  encoder: "The source looks at itself: each character (left) at all of them (right).",
  decoder:
    "About to write a character (left), the decoder looks at what stands there already (right).",
  cross:
    "Cross-attention: about to write a character (left), the decoder looks at the source (right).",
};

const say = ({ row, column, spread, received }, state) => {
  const { queries, keys } = shownMap(state);
  const { query, key } = picks(state);
  const writes = Object.hasOwn(INTRODUCTIONS, state.kind) && state.kind !== "encoder";
  const one = called(queries, query);
  const text = (x) => decimals(x, 3);
  if (state.side === "key") {
    const most = column.indexOf(Math.max(...column));
    const name = called(keys, key);
    const even = queries.length / keys.length;
    if (received < 0.1 * even)
      return `Hardly anything looks at ${name}: in all it gets ${text(received)}.`;
    const by = writes
      ? `before ${called(queries, most)} is written`
      : `by ${called(queries, most)}`;
    const rank =
      received > 1.5 * even
        ? "a place where many look"
        : received < 0.67 * even
          ? "less than its share"
          : "about its share";
    return (
      `${upper(name)} is looked at most ${by}: ${text(column[most])}. In all it gets ${text(received)}. ` +
      `If all looked evenly, it would be ${text(even)}, so this is ${rank}.`
    );
  }
  const best = row.indexOf(Math.max(...row));
  if (row[best] === 0) return `${upper(one)} may look at nothing: all its weights are 0.`;
  const start = writes ? `Before it writes ${one}, this head looks` : `${upper(one)} looks`;
  const self =
    !writes && queries.length === keys.length && queries.every((token, i) => token === keys[i]);
  const near = { 0: "itself", 1: "the next one", [-1]: "the one before it" }[best - query];
  const at = self && near ? near : called(keys, best);
  const seen = row.filter((w) => w > 0).length;
  if (row[best] > 0.999) {
    return seen === 1 && best === 0 && query === 0 && state.kind === "decoder"
      ? `${start} at BOS, with weight ${text(row[best])}. It has written nothing yet, so there is nothing else.`
      : `${start} at ${at} and at nothing else.`;
  }
  if (row[best] >= 0.5)
    return `${start} mostly at ${at}, with weight ${text(row[best])}. The others share the rest.`;
  const even = spread > 0.75 * seen ? " So it shows hardly anything." : "";
  return (
    `${start} most at ${at}, but only with weight ${text(row[best])}: ` +
    `spread as wide as equal weights on ${decimals(spread, 1)} of ${seen === keys.length ? "" : "the "}${seen} places.${even}`
  );
};

// --- all heads, small ------------------------------------------------------------------------

const thumbs = (view, maps) => {
  const [layers, heads] = [maps[0].weights.length, maps[0].weights[0].length];
  const name = `${view.id}-head`;
  const line = (layer) =>
    Array.from({ length: heads }, (_, head) => {
      const title = layers > 1 ? `layer ${layer}, head ${head}` : `head ${head}`;
      const input = make("input", {
        type: "radio",
        name,
        "data-control": "head",
        "aria-label": title,
        onchange: () => {
          view.set("layer", layer);
          view.set("head", head);
        },
      });
      const picture = mapPicture(view, (state) => shownMap(state).weights[layer][head]);
      view.each((_, state) => {
        input.checked = state.layer === layer && state.head === head;
      });
      return make(
        "label.live-thumb",
        {},
        input,
        picture,
        make("span", {}, layers > 1 ? `${layer}, ${head}` : `${head}`),
      );
    });
  return make(
    "fieldset.live-thumbs",
    { style: `--heads:${Math.min(heads, 4)}` },
    make("legend", {}, layers > 1 ? "Layer, head" : "Head"),
    Array.from({ length: layers }, (_, layer) => line(layer)).flat(),
  );
};

// --- the tokens of both sides, and lines between them ------------------------------------------

const pairs = (view, { queries, keys }) => {
  const name = `${view.id}-token`;
  // Hovering shows a token while the mouse is over it. This is what was picked before.
  /** @type {{ side: string, at: number } | null} */
  let kept = null;
  const show = (side, at) => {
    view.set(side, at);
    if (view.get("side") !== side) view.set("side", side);
  };
  const tokens = (side, list, path) =>
    list.map((token, at) => {
      const input = make("input", {
        type: "radio",
        name,
        "data-control": "token",
        "aria-label": `${side} ${at}, ${token === " " ? "space" : token}`,
        // Not onchange: hovering has checked the input already. Arrow keys fire click, too.
        onclick: () => {
          show(side, at);
          if (kept) kept = { side, at };
        },
      });
      const text = make("span.token", {}, wordNode(visible(token)));
      const label = make(
        "label.live-token",
        {
          onpointerenter: (event) => {
            if (event.pointerType !== "mouse") return;
            const state = view.state();
            if (!kept) kept = { side: state.side, at: picks(state)[state.side] };
            show(side, at);
          },
        },
        input,
        side === "query"
          ? [liveNumber(view, `${path}.${at}`, { digits: 3 }), text]
          : [text, liveNumber(view, `${path}.${at}`, { digits: 3 })],
      );
      view.each((n, state) => {
        const here = picks(state)[side] === at && state.side === side;
        input.checked = here;
        label.classList.toggle("picked", here);
        label.classList.toggle("quiet", state.side === side);
        const share = state.side === side ? 0 : valueAt(n, path)[at];
        label.style.setProperty("--share", `${Math.round(40 * Math.min(1, share))}%`);
        label.classList.toggle("least", share < 0.005);
        label.classList.toggle("most", share > 0 && share === Math.max(...valueAt(n, path)));
      });
      return label;
    });
  const lines = mapLines(view, {
    queries: queries.length,
    keys: keys.length,
    weightsOf: ({ layer, head, ...state }) => shownMap(state).weights[layer][head],
    picked: ({ row, column }, state) => ({
      side: state.side,
      at: picks(state)[state.side],
      shares: state.side === "query" ? row : column,
    }),
  });
  const side = (role, list, path) =>
    make(
      `fieldset.live-side.${role}-side`,
      {},
      make(`legend.${role}`, {}, role),
      tokens(role, list, path),
    );
  return make(
    "div.live-pairs",
    {
      style: mapHeight(Math.max(queries.length, keys.length)),
      onpointerleave: () => {
        if (kept) show(kept.side, kept.at);
        kept = null;
      },
    },
    side("query", queries, "column"),
    lines,
    side("key", keys, "row"),
  );
};

const build = (view) => [
  make("p.live-lead", {}, "Pick a head, then a character on either side."),
  rebuiltPart(
    view,
    (_, { maps }) => [maps],
    (own, _, { maps }) =>
      make(
        "div.live-map",
        {},
        make(
          "div.live-map-controls",
          {},
          maps.length > 1
            ? choiceControl(own, "kind", {
                label: "Attention of",
                options: maps.map(({ name }) => [name, name]),
              })
            : null,
          maps.length > 1
            ? rebuiltPart(
                own,
                (_, { kind }) => [kind],
                (_, __, { kind }) =>
                  make(
                    "p.live-introduction",
                    {},
                    Object.hasOwn(INTRODUCTIONS, kind) ? INTRODUCTIONS[kind] : "",
                  ),
              )
            : null,
          thumbs(own, maps),
        ),
        rebuiltPart(
          own,
          (_, { kind }) => [kind],
          (inner, _, state) => pairs(inner, shownMap(state)),
        ),
        resultSentence(own, say), // last on a phone, so that a longer sentence moves nothing under the finger
      ),
  ),
];

const figure = { state: ["maps", "kind", "layer", "head", "side", "query", "key"], numbers, build };
export default { ...figure, render: renderFigure(figure) };
