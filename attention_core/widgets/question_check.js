// What is said to an answer, as attention_core/questions says it: _reading.py and _verdicts.py.

/**
 * @typedef {object} Verdict
 * @property {string} reply in HTML
 * @property {boolean} right
 * @property {number[]} wrong the numbers of the blanks that are wrong
 */

const SPACES = /[\t-\r \x85\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]+/g;
const NUMBER = /^[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const GROUPS = /^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:[.][0-9]+)?$/;

/** @type {(text: string) => string} */
const trimmed = (text) => text.replace(/^ +| +$/g, "");

/** @type {(text: string) => string} */
const plain = (text) =>
  trimmed(
    text
      .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
      .replace(/[\u2010-\u2013\u2212\ufe63]/g, "-")
      .replace(/[\u2044\u2215]/g, "/")
      .replace(/\u3002/g, ".")
      .replace(SPACES, " "),
  );

/** @type {(text: string) => number[]} */
const values = (text) => {
  const found = [];
  if (NUMBER.test(text)) found.push(Number(text.replace(",", ".")));
  if (GROUPS.test(text)) found.push(Number(text.replaceAll(",", "")));
  return found.filter(Number.isFinite);
};

/**
 * The numbers that a text may mean: none if it is no number, null if it is empty.
 *
 * @type {(text: string, unit?: string) => number[] | null}
 */
export const readNumber = (text, unit = "") => {
  let rest = plain(text);
  if (!rest) return null;
  if (unit && rest.endsWith(unit)) rest = trimmed(rest.slice(0, -unit.length));
  const percent = rest.endsWith("%");
  if (percent) rest = trimmed(rest.slice(0, -1));
  rest = rest.replace(/([0-9]) (?=[0-9]{3}(?![0-9]))/g, "$1");
  const parts = rest.split("/").map((part) => values(trimmed(part)));
  if (parts.length > 2 || parts.some((part) => !part.length)) return [];
  let found = parts[0];
  if (parts.length === 2) found = [found[0] / parts[1][0]];
  if (percent) found = found.map((value) => value / 100);
  return found.filter(Number.isFinite);
};

/** @type {(state: any, given: string[]) => Verdict} */
const number = ({ says, unit, answer, tolerance, hints, near }, [text]) => {
  const read = readNumber(text, unit);
  const say = (/** @type {string} */ reply, right = false) => ({ reply, right, wrong: [] });
  if (!read) return say(says.empty);
  if (!read.length) return say(says.unreadable);
  const distance = (/** @type {number} */ wanted) =>
    Math.min(...read.map((value) => Math.abs(value - wanted)));
  if (distance(answer) <= tolerance) return say(says.right, true);
  let closest = Infinity;
  let hint = "";
  for (const [wanted, reply] of hints) {
    const far = distance(wanted);
    if (far <= tolerance && far < closest) [closest, hint] = [far, reply];
  }
  return say(hint || (distance(answer) <= near ? says.near : says.otherwise));
};

/** @type {(state: any, given: string[]) => Verdict} */
const choice = ({ says, replies, right }, [index]) => ({
  reply: index === "" ? says.empty : replies[Number(index)],
  right: index !== "" && Number(index) === right,
  wrong: [],
});

/** @type {(state: any, given: string[]) => Verdict} */
const cells = ({ says, answers, tolerance, hints }, given) => {
  const read = given.map((text) => readNumber(text));
  const places = [...read.keys()];
  const empty = places.filter((place) => !read[place]);
  if (empty.length) return { reply: says.empty, right: false, wrong: empty };
  const unreadable = places.filter((place) => !read[place]?.length);
  if (unreadable.length)
    return { reply: says.unreadable[unreadable[0]], right: false, wrong: unreadable };
  const fits = (/** @type {number} */ place, /** @type {number | null} */ wanted) =>
    wanted === null || read[place]?.some((value) => Math.abs(value - wanted) <= tolerance);
  const wrong = places.filter((place) => !fits(place, answers[place]));
  if (!wrong.length) return { reply: says.right, right: true, wrong };
  for (const [table, reply] of hints) {
    if (places.every((place) => fits(place, table[place]))) return { reply, right: false, wrong };
  }
  return { reply: says.otherwise[wrong[0]], right: false, wrong };
};

/** @type {Record<string, (state: any, given: string[]) => Verdict>} */
const kinds = { number, choice, cells };

/**
 * Judge the texts of the fields by the state of a question.
 *
 * @type {(state: any, given: string[]) => Verdict}
 */
export const verdict = (state, given) => kinds[state.kind](state, given);
