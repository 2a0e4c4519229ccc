// The page's part: starts each figure from the state that stands in the page.

const host = (modules) => {
  for (const place of document.querySelectorAll("div[data-live]:not([data-started])")) {
    const module = modules[place.dataset.live];
    if (!module) continue;
    place.dataset.started = "";
    const state = JSON.parse(place.querySelector("script").textContent);
    const listeners = {};
    const model = {
      get: (key) => state[key],
      set: (key, value) => {
        state[key] = value;
        for (const listen of [...(listeners[`change:${key}`] || [])]) listen();
      },
      save_changes: () => {},
      on: (event, listen) => (listeners[event] ||= []).push(listen),
      off: (event, listen) => {
        listeners[event] = (listeners[event] || []).filter((one) => one !== listen);
      },
      send: () => {},
    };
    place.querySelector("table").remove(); // the figure says all that it said
    module.render({ model, el: place });
  }
};
