// The page's part: starts each figure from the state that stands in the page.

const host = (modules) => {
  const here = document.currentScript.src;
  for (const place of document.querySelectorAll("div[data-live]:not([data-started])")) {
    const module = modules[place.dataset.live];
    if (!module) continue;
    place.dataset.started = "";
    const state = JSON.parse(place.querySelector("script").textContent);
    const listeners = {};
    const model = {
      get: (key) => state[key],
      // One value by its name, or several at once as an object.
      set: (key, value) => {
        const changes = typeof key === "object" ? key : { [key]: value };
        Object.assign(state, changes);
        for (const name of Object.keys(changes)) {
          for (const listen of [...(listeners[`change:${name}`] || [])]) listen();
        }
      },
      save_changes: () => {},
      on: (event, listen) => (listeners[event] ||= []).push(listen),
      off: (event, listen) => {
        listeners[event] = (listeners[event] || []).filter((one) => one !== listen);
      },
      // A figure that wants a model gets it from a script beside this one, as it would get
      // it from a kernel: as a message with bytes. Without bytes: it did not come.
      send: ({ wants }) => {
        const answer = () => {
          const { float16, ...manifest } = globalThis.liveData?.[wants] ?? {};
          const bytes = float16 && Uint8Array.from(atob(float16), (byte) => byte.charCodeAt(0));
          for (const listen of [...(listeners["msg:custom"] || [])]) {
            listen({ data: wants, ...manifest }, bytes ? [new DataView(bytes.buffer)] : []);
          }
        };
        const tag = document.createElement("script");
        Object.assign(tag, { src: new URL(`${wants}.js`, here).href, onload: answer, onerror: answer });
        document.head.append(tag);
      },
    };
    const table = place.querySelector("table");
    try {
      module.render({ model, el: place });
    } catch (error) {
      // The table still says what the figure would; the other figures still start.
      place.querySelector(".live-figure")?.remove();
      console.error(error);
      continue;
    }
    table.remove(); // the figure says all that it said
    // The box is reached by keyboard for the table's sake; the figure has its own stops.
    const box = place.closest(".output.text_html");
    for (const name of ["tabindex", "role", "aria-label"]) box?.removeAttribute(name);
    box?.classList.add("live-box"); // no longer scrolls: its wide parts have boxes of their own
  }
};
