// How a live figure works. It gives `numbers`, a pure function from its state to everything
// that it shows, and `build`, which makes its elements once. When the reader or the kernel
// changes the state, all numbers are computed again and put in their places.

import { make } from "./elements.js";

/** @typedef {Record<string, any>} State the traits of a figure by name */
/** @typedef {any} Numbers all that a figure shows: nested objects and lists of numbers */
/** @typedef {(numbers: Numbers, state: State) => void} Place puts numbers in their places */

/**
 * @typedef {object} View what the elements of a figure know of it
 * @property {string} id unique on the page
 * @property {() => State} state
 * @property {(key: string) => any} get
 * @property {(key: string, value: any) => void} set
 * @property {(place: Place) => void} each have a place follow the state
 * @property {(text: string) => void} announce give the figure's one live region its text
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
 * @property {(state: any) => unknown} [structure] what of the state needs other elements
 */

/** How long a figure must rest before its sentence is announced, in milliseconds. */
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
    // The only live region. Numbers are not announced one by one, and a drag does not flood a
    // screen reader: it hears one sentence, when the figure has come to rest.
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
        // What stands there at first is found, not announced.
        if (root.isConnected) clock = setTimeout(put, REST);
        else put();
      },
    };
    // JupyterLab takes arrow keys for its cells, unless the very element that has them says no.
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
    // For the tests: what the figure stands at, and what it says.
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
