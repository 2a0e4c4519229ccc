// Makes the fields of a question and answers in its place. The HTML that Python stored can be read
// without this script: the options become radio buttons, the blanks of a table become fields, and
// the folded answer waits until there was a try.

import { verdict } from "./question_check.js";

/** @type {(name: string, properties?: Record<string, any>, ...children: (Node | string)[]) => any} */
const make = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

/** What the browser remembers under a key, or nothing where it stores nothing. */
const memory = {
  /** @type {(key: string) => any} */
  read: (key) => {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "null");
    } catch {
      return null; // blocked, or written by something else
    }
  },
  /** @type {(key: string, given: string[] | null) => void} */
  write: (key, given) => {
    try {
      if (given) localStorage.setItem(key, JSON.stringify(given));
      else localStorage.removeItem(key);
    } catch {
      // Full or blocked: the answer lasts as long as the page.
    }
  },
};

/**
 * Make the fields of a question: inputs of texts, or one group of radio buttons.
 *
 * @type {(place: any, state: any, text: HTMLElement) => { inputs: any[], row: Node[] }}
 */
const fields = (place, state, text) => {
  const field = (/** @type {Record<string, any>} */ names) =>
    make("input", {
      type: "text",
      autocomplete: "off",
      enterKeyHint: "done",
      // Phones show digits; their keyboard for decimals has no minus sign.
      ...(state.signed ? {} : { inputMode: "decimal" }),
      "data-lm-suppress-shortcuts": "true", // JupyterLab's
      ...names,
    });
  if (state.kind === "choice") {
    const list = place.querySelector("ul");
    const group = make("fieldset", { className: "question-options", "aria-labelledby": text.id });
    const inputs = [...list.children].map((item, index) => {
      const input = make("input", { type: "radio", name: text.id, value: String(index) });
      group.append(make("label", {}, input, make("span", {}, ...item.childNodes)));
      return input;
    });
    list.replaceWith(group);
    return { inputs, row: [] };
  }
  if (state.kind === "cells") {
    const inputs = [...place.querySelectorAll(".question-blank")].map((blank, index) => {
      const input = field({ "aria-label": state.labels[index] });
      blank.replaceChildren(input);
      return input;
    });
    place.querySelector("table").setAttribute("aria-labelledby", text.id);
    return { inputs, row: [] };
  }
  const input = field({ "aria-describedby": text.id });
  return { inputs: [input], row: [make("label", {}, state.words.label, input, state.unit)] };
};

/**
 * Make a question alive. Without a key nothing is remembered.
 *
 * @type {(place: any, key?: string) => void}
 */
const start = (place, key = "") => {
  const state = JSON.parse(place.querySelector("script").textContent);
  const text = place.querySelector(".question-text");
  const fold = place.querySelector("details");
  const { inputs, row } = fields(place, state, text);
  const radios = state.kind === "choice";

  const given = () =>
    radios
      ? [inputs.find((input) => input.checked)?.value ?? ""]
      : inputs.map((input) => input.value);
  const put = (/** @type {string[]} */ texts) => {
    for (const [index, input] of inputs.entries()) {
      if (radios) input.checked = texts[0] === input.value;
      else input.value = texts[index] ?? "";
    }
  };
  const region = make("p", { className: "question-reply", role: "status" });
  const again = make(
    "button",
    { type: "button", className: "question-again", hidden: true },
    state.words.again,
  );

  const forget = () => {
    region.replaceChildren();
    region.className = "question-reply";
    again.hidden = true;
    for (const input of inputs) input.removeAttribute("aria-invalid");
  };
  const answer = () => {
    forget();
    const { reply, right, wrong } = verdict(state, given());
    region.innerHTML = reply; // made and escaped by attention_core.questions
    if (right) region.classList.add("question-right");
    for (const index of wrong) inputs[index].setAttribute("aria-invalid", "true");
    // Who is right needs no answer; who is not can go on typing.
    again.hidden = !right;
    fold.hidden = right;
  };
  const check = () => {
    answer();
    if (key) memory.write(key, given());
  };
  again.addEventListener("click", () => {
    put([]);
    forget();
    fold.open = false;
    fold.hidden = true;
    if (key) memory.write(key, null);
    inputs[0].focus();
  });
  for (const input of inputs) {
    input.addEventListener("input", forget);
    input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      // Not by submitting a form: a sandboxed frame may block forms.
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      check();
    });
  }
  const button = make(
    "button",
    { type: "button", onclick: check, "aria-describedby": text.id },
    state.words.check,
  );
  fold.before(make("div", { className: "question-row" }, ...row, button, again), region);
  fold.hidden = true;
  fold.querySelector("summary").textContent = state.words.show;
  place.dataset.started = "";

  const kept = key ? memory.read(key) : null;
  if (Array.isArray(kept) && kept.length === given().length && kept.every((x) => x === `${x}`)) {
    put(kept);
    if (radios && given()[0] !== kept[0]) return; // an option that is no longer there
    answer();
  }
};

/** Start all questions of a page. */
export const host = () => {
  for (const place of document.querySelectorAll("div[data-question]:not([data-started])")) {
    const { question } = /** @type {HTMLElement} */ (place).dataset;
    try {
      start(place, `question:${location.pathname}:${question}`);
    } catch (error) {
      console.error(error); // the question and its folded answer can still be read
    }
    const box = place.closest(".output.text_html");
    for (const name of ["tabindex", "role", "aria-label"]) box?.removeAttribute(name);
  }
};

// For Jupyter: the HTML comes with the widget.
export default {
  render: (/** @type {any} */ { model, el }) => {
    el.innerHTML = model.get("html");
    start(el.firstElementChild);
  },
};
