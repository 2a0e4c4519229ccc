// Data that a figure asks for when it needs them: from the kernel in Jupyter, from a script on a
// page. They come as a message with bytes, see host.js.

import { renderFigure } from "./figure.js";

/** @typedef {import("./figure.js").Model} Model */
/** @typedef {import("./figure.js").View} View */

/** The time after which an answer is no longer expected, in milliseconds. */
const LONGEST_WAIT = 20000;

/**
 * Return a function that asks for the data of this name and waits until `use` has taken them. It
 * asks once for all figures on the page, and again only after a failure.
 *
 * @param {string} name
 * @param {(message: any, bytes: any) => void} use
 * @returns {(model: Model) => Promise<void>}
 */
export const askFor = (name, use) => {
  /** @type {Promise<void> | null} */
  let coming = null;
  return (model) => {
    coming ??= /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const take = (/** @type {any} */ message, /** @type {any[]} */ buffers) => {
          if (message?.data !== name) return;
          model.off("msg:custom", take);
          const found = buffers?.[0];
          if (!found) return reject(new Error("no data"));
          use(message, found);
          resolve(undefined);
        };
        model.on("msg:custom", take);
        model.send({ wants: name });
        setTimeout(() => reject(new Error("no answer")), LONGEST_WAIT);
      })
    ).catch((error) => {
      coming = null; // the next call asks again
      throw error;
    });
    return coming;
  };
};

/**
 * Return the `render` of a figure that asks for data. When they come, its state does not change,
 * but it must be drawn again: `build` gets a function that does so.
 *
 * @param {{ state: string[], numbers: (state: any) => any,
 *   structure?: (state: any) => unknown,
 *   build: (view: View, model: Model, again: () => void) => Node | Node[] }} figure
 * @returns {(place: { model: Model, el: Element }) => () => void}
 */
export const renderAsking =
  (figure) =>
  ({ model, el }) => {
    let again = () => {};
    /** @type {Model} */
    const heard = {
      get: (key) => model.get(key),
      set: (key, value) => model.set(key, value),
      save_changes: () => model.save_changes(),
      send: (message) => model.send(message),
      on: (event, listen) => {
        again = listen;
        model.on(event, listen);
      },
      off: (event, listen) => model.off(event, listen),
    };
    const build = (/** @type {View} */ view) => figure.build(view, model, () => again());
    return renderFigure({ ...figure, build })({ model: heard, el });
  };
