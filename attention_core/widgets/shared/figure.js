// How a live figure works. It provides `numbers`, a pure function from its state to everything
// that it shows, and `build`, which makes its elements. When the reader or the kernel changes the
// state, all numbers are computed again, and the elements are updated. They are made again only
// where `structure` changes.

import { make } from "./elements.js";

/** @typedef {Record<string, any>} State the traits of a figure by name */
/** @typedef {any} Numbers all that a figure shows: nested objects and lists of numbers */
/** @typedef {(numbers: Numbers, state: State) => void} Place a callback that updates an element */

/**
 * @typedef {object} View the access that the elements of a figure have to it
 * @property {string} id unique on the page
 * @property {() => State} state
 * @property {(key: string) => any} get
 * @property {(key: string, value: any) => void} set
 * @property {(place: Place) => void} each run this after every change of the state
 * @property {(text: string) => void} announce put a text in the figure's live region
 */

/**
 * @typedef {object} Model the state as anywidget, or the page's host, keeps it
 * @property {(key: string) => any} get
 * @property {(key: string | State, value?: any) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, listen: (...message: any[]) => void) => void} on
 * @property {(event: string, listen: (...message: any[]) => void) => void} off
 * @property {(message: any) => void} send
 */

/**
 * @typedef {object} Figure
 * @property {string[]} state the names of its traits
 * @property {(state: any) => Numbers} numbers
 * @property {(view: View) => Node | Node[]} build
 * @property {(state: any) => unknown} [structure] the part of the state that needs other elements
 */

/** The time without changes after which the result is announced, in milliseconds. */
const REST = 500;

let figures = 0;

/** @type {(figure: Figure) => (place: { model: Model, el: Element }) => () => void} */
export const renderFigure =
  (figure) =>
  ({ model, el }) => {
    figures += 1;
    const keys = figure.state;
    /** @type {Place[]} */
    const places = [];
    const root = make("div.live-figure");
    // The only live region. Numbers are not announced one by one: at the end of a drag a screen
    // reader announces one sentence.
    const region = make("p.live-announced", { role: "status" });
    root.append(region);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let clock;
    /** @type {View} */
    const view = {
      id: `live-${figures}`,
      state: () => Object.fromEntries(keys.map((key) => [key, model.get(key)])),
      get: (key) => model.get(key),
      set: (key, value) => {
        model.set(key, value);
        model.save_changes();
      },
      each: (place) => places.push(place),
      announce: (text) => {
        clearTimeout(clock);
        const put = () => {
          if (region.textContent !== text) region.textContent = text;
        };
        // The first text stands there before the figure is in the page, so it is not announced.
        if (root.isConnected) clock = setTimeout(put, REST);
        else put();
      },
    };
    // JupyterLab uses arrow keys to move between cells, unless the focused element says no.
    root.addEventListener("focusin", (/** @type {any} */ { target }) =>
      target.setAttribute("data-lm-suppress-shortcuts", "true"),
    );
    /** @type {string | null} */
    let structure = null;
    const update = () => {
      const state = view.state();
      // Other words, or tables of another size, need other elements.
      const wanted = JSON.stringify(figure.structure?.(state) ?? "always");
      if (wanted !== structure) {
        structure = wanted;
        places.length = 0;
        for (const old of [...root.children]) if (old !== region) old.remove();
        region.before(...[figure.build(view)].flat());
      }
      const numbers = figure.numbers(state);
      for (const place of places) place(numbers, state);
    };
    for (const key of keys) model.on(`change:${key}`, update);
    update();
    el.append(root);
    // For the tests: access to the state and the numbers.
    root.figure = {
      state: view.state,
      numbers: () => figure.numbers(view.state()),
      set: view.set,
      put: (/** @type {State} */ state) => model.set(state),
    };
    return () => {
      clearTimeout(clock);
      for (const key of keys) model.off(`change:${key}`, update);
    };
  };
