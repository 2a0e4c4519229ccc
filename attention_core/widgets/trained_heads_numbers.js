// The sentences, the weights that a published model gives them, and the numbers of one row.

export const LAYERS = 6;
export const HEADS = 12;
export const STEPS = 200;

// Each sentence with the token that is picked when the reader chooses the sentence.
/** @type {[string, number][]} */
export const SENTENCES = [
  ["Your journey starts with one step.", 5],
  ["I saw a saw.", 2],
  ["The queen lost her ring and she bought another ring.", 7],
  ["The dog chased the cat.", 3],
  ["The cat chased the dog.", 3],
  ["The queen told the boy that she was tired.", 7],
  ["The queen told the boy that he was tired.", 7],
  ["The boy told the queen that she was tired.", 7],
  ["The duke told the duchess that he was tired.", 7],
  ["She closed the small round window.", 2],
  ["The bark of the wolf was loud.", 2],
  ["The bark of the oak was thick.", 2],
];

// No word of these sentences is cut into pieces.
export const tokensOf = ({ sentence }) => [
  "[CLS]",
  ...(SENTENCES[sentence][0].toLowerCase().match(/[a-z]+|\./g) ?? []),
  "[SEP]",
];

// The middle of a step stands for all weights in it.
const weightOf = (byte) => (byte + 0.5) / STEPS;

export const keyOf = ({ trained }) => (trained ? "trained" : "untrained");

// Once they are loaded, the maps of each model, [sentence][layer][head][query][key], and a byte
// for each row, see `leader`.
export const store = {};

export const use = ({ trained, sizes }, data) => {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let at = 0;
  const list = (length, item) => Array.from({ length }, item);
  const all = (part) => sizes.map((size) => list(LAYERS, () => list(HEADS, () => part(size))));
  const byte = () => bytes[at++];
  const maps = all((size) => list(size, () => list(size, () => weightOf(byte()))));
  store[keyOf({ trained })] = { maps, leads: all((size) => list(size, byte)) };
};

// The opening holds one head of one sentence, so that this map is there at once.
const openings = new WeakMap();
const openingMap = (state) => {
  const { opening, sentence, layer, head } = state;
  if (opening.sentence !== sentence || opening.layer !== layer || opening.head !== head)
    return null;
  const rows = opening[keyOf(state)];
  if (!openings.has(rows)) {
    openings.set(
      rows,
      rows.map((row) => row.map((byte) => weightOf(byte))),
    );
  }
  return openings.get(rows);
};

export const mapOf = (state) => {
  const whole = store[keyOf(state)];
  return whole ? whole.maps[state.sentence][state.layer][state.head] : openingMap(state);
};

const leadsOf = (state) => {
  const whole = store[keyOf(state)];
  return whole
    ? whole.leads[state.sentence][state.layer][state.head]
    : state.opening.leads[keyOf(state)];
};

// The largest of some weights. Several may share a step: of those, the one that leads in float64
// is so many places after the first. A byte of `leads` is 16 times the places among all tokens,
// plus those among the words.
const leader = (weights, places) => weights.indexOf(Math.max(...weights)) + places;

export const pickedIn = (state) => Math.min(state.query, tokensOf(state).length - 1);

export const isMark = (token) => token.startsWith("[");
export const isWord = (token) => !isMark(token) && token !== ".";

// How many times an even share the weight is. Its step leaves some room: where all of it rounds to
// one whole number, that one, and elsewhere the half between two.
const timesOf = (most, length) => {
  const step = Math.floor(most * STEPS);
  const low = Math.floor((step * length) / STEPS + 0.5);
  const high = Math.ceil(((step + 1) * length) / STEPS - 0.5);
  return low === high ? low : low + 0.5;
};

export const numbers = (state) => {
  const tokens = tokensOf(state);
  const even = 1 / tokens.length;
  const row = mapOf(state)?.[pickedIn(state)];
  if (!row) {
    const none = { top: NaN, word: NaN, most: NaN, times: NaN };
    return { row: tokens.map(() => NaN), ...none, even };
  }
  const places = leadsOf(state)[pickedIn(state)];
  const top = leader(row, places >> 4);
  const word = leader(
    row.map((w, i) => (isWord(tokens[i]) ? w : -1)),
    places & 15,
  );
  return { row, top, word, most: row[top], even, times: timesOf(row[top], tokens.length) };
};
