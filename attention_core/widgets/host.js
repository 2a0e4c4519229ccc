// The page's part: starts each figure from the state that stands in the page.

/** @typedef {import("./shared/figure.js").Model} Model */
/** @typedef {(...message: any[]) => void} Listener */

/**
 * The state of one figure, as the kernel's model keeps it in Jupyter.
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
    // One value by its name, or several at once as an object.
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
    // A figure that wants a model gets it from a script beside this one, as it would get it
    // from a kernel: as a message with bytes. Without bytes: it did not come.
    send: ({ wants }) => {
      const answer = () => {
        const { liveData } = /** @type {any} */ (globalThis);
        const { float16, ...manifest } = liveData?.[wants] ?? {};
        const bytes = float16 && Uint8Array.from(atob(float16), (byte) => byte.charCodeAt(0));
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
      // The table still says what the figure would; the other figures still start.
      place.querySelector(".live-figure")?.remove();
      console.error(error);
      continue;
    }
    table?.remove(); // the figure says all that it said
    // The box is reached by keyboard for the table's sake; the figure has its own stops.
    const box = place.closest(".output.text_html");
    for (const name of ["tabindex", "role", "aria-label"]) box?.removeAttribute(name);
    box?.classList.add("live-box"); // no longer scrolls: its wide parts have boxes of their own
  }
};
