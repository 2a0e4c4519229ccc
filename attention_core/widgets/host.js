// The host on a page without a kernel: renders each figure from the state stored in the page.

/** @typedef {import("./shared/figure.js").Model} Model */
/** @typedef {(...message: any[]) => void} Listener */

/**
 * Make the model of one figure. It keeps the state, as the kernel's model does in Jupyter.
 *
 * @type {(state: Record<string, any>, here: string) => Model}
 */
const modelOf = (state, here) => {
  /** @type {Record<string, Listener[]>} */
  const listeners = {};
  const emit = (/** @type {string} */ event, /** @type {any[]} */ ...message) => {
    for (const listen of [...(listeners[event] ?? [])]) listen(...message);
  };
  return {
    get: (key) => state[key],
    // Takes a name and a value, or an object with several values.
    set: (key, value) => {
      const changes = typeof key === "object" ? key : { [key]: value };
      Object.assign(state, changes);
      for (const name of Object.keys(changes)) emit(`change:${name}`);
    },
    save_changes: () => {},
    on: (event, listen) => {
      listeners[event] = [...(listeners[event] ?? []), listen];
    },
    off: (event, listen) => {
      listeners[event] = (listeners[event] ?? []).filter((one) => one !== listen);
    },
    // A figure asks for a trained model with a message. The answer is a message with bytes, as
    // from a kernel; the bytes come from a script beside this one. If that does not load, the
    // answer has no bytes.
    send: ({ wants }) => {
      const answer = () => {
        const { liveData } = /** @type {any} */ (globalThis);
        const { base64, ...manifest } = liveData?.[wants] ?? {};
        const bytes = base64 && Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
        const data = { data: wants, ...manifest };
        emit("msg:custom", data, bytes ? [new DataView(bytes.buffer)] : []);
      };
      const tag = document.createElement("script");
      Object.assign(tag, {
        src: new URL(`${wants}.js`, here).href,
        onload: answer,
        onerror: answer,
      });
      document.head.append(tag);
    },
  };
};

/** @type {(modules: Record<string, { render: (place: any) => void }>) => void} */
export const host = (modules) => {
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  /** @type {NodeListOf<HTMLElement>} */
  const places = document.querySelectorAll("div[data-live]:not([data-started])");
  for (const place of places) {
    const module = modules[String(place.dataset.live)];
    if (!module) continue;
    place.dataset.started = "";
    const table = place.querySelector("table");
    try {
      const state = JSON.parse(place.querySelector("script")?.textContent ?? "");
      module.render({ model: modelOf(state, here), el: place });
    } catch (error) {
      // The table stays in place of this figure; the other figures still start.
      place.querySelector(".live-figure")?.remove();
      console.error(error);
      continue;
    }
    table?.remove(); // the figure shows all that the table showed
    // The box has a tab stop so that the table can be scrolled; the figure has its own.
    const box = place.closest(".output.text_html");
    for (const name of ["tabindex", "role", "aria-label"]) box?.removeAttribute(name);
    box?.classList.add("live-box"); // does not scroll: wide parts have their own scroll boxes
  }
};
