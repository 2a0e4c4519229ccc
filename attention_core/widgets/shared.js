// What all live figures share. A figure gives `numbers`, a pure function from its state to
// everything it shows, and `build`, which makes the elements once. When the state changes,
// by the reader or by the kernel, all numbers are computed anew and put in their places.
// No imports here or in the figures: pages opened from a file could not load them.

const live = {};

live.dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
live.norm = (a) => Math.sqrt(live.dot(a, a));
live.transpose = (m) => m[0].map((_, j) => m.map((row) => row[j]));
live.matmul = (a, b) => {
  const columns = live.transpose(b);
  return a.map((row) => columns.map((column) => live.dot(row, column)));
};
live.scale = (m, factor) => m.map((row) => row.map((x) => x * factor));

// The largest score is taken off first, so that exp cannot overflow. Where nothing may be
// seen (all scores −∞) the weights are 0, as in attention_core.
live.softmax = (scores) => {
  const top = Math.max(...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((s) => Math.exp(s - top));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
};

// Fixed decimals; zero has no sign, and a number that is not defined is a dash.
live.text = (value, digits = 4) => {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
};

live.at = (tree, path) => path.split(".").reduce((node, key) => node[key], tree);

// An element from its name with classes, attributes and children: make("p.note", {}, "text").
// Children are text or elements, never markup, so a token like <b> stays a token.
live.make = (name, attributes = {}, ...children) => {
  const [tag, ...classes] = name.split(".");
  const svg = live.svgTags.has(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};
live.svgTags = new Set(["svg", "g", "path", "line", "circle", "rect", "text", "polygon"]);

// Chinese words are marked, so that they get their font and the right voice.
live.word = (text) =>
  /[\u3400-\u9fff\uff00-\uffef]/.test(text)
    ? live.make("span", { lang: "zh" }, text)
    : document.createTextNode(text);

let figures = 0;

live.render = (figure) => ({ model, el }) => {
  const id = `live-${++figures}`;
  const keys = figure.state;
  const places = []; // functions that put numbers in their places
  const view = {
    id,
    state: () => Object.fromEntries(keys.map((key) => [key, model.get(key)])),
    get: (key) => model.get(key),
    set: (key, value) => {
      model.set(key, value);
      model.save_changes();
    },
    each: (place) => places.push(place),
  };
  const root = live.make("div.live-figure");
  root.append(...[figure.build(view)].flat());
  el.append(root);
  const update = () => {
    const state = view.state();
    const numbers = figure.numbers(state);
    for (const place of places) place(numbers, state);
  };
  for (const key of keys) model.on(`change:${key}`, update);
  update();
  // For the tests: what the figure stands at, and what it says.
  root.figure = { state: view.state, numbers: () => figure.numbers(view.state()), set: view.set };
  return () => keys.forEach((key) => model.off(`change:${key}`, update));
};

// --- numbers and sentences --------------------------------------------------------------

// A number that follows the state. Its path is written on it, so that tests can find it.
live.number = (view, path, { digits = 4, role = null } = {}) => {
  const place = live.make(`output.live-number${role ? `.${role}` : ""}`, {
    "data-key": path,
    "data-digits": digits,
  });
  view.each((numbers) => {
    place.textContent = live.text(live.at(numbers, path), digits);
  });
  return place;
};

// A table cell with a share between 0 and 1: the number, and a bar behind it.
live.bar = (view, path, options = {}) => {
  const cell = live.make("td.live-bar", {}, live.number(view, path, options));
  view.each((numbers) => cell.style.setProperty("--share", `${100 * live.at(numbers, path)}%`));
  return cell;
};

// A sentence about the numbers, read out after the reader has let go.
live.reading = (view, say) => {
  const place = live.make("p.live-reading", { role: "status" });
  view.each((numbers, state) => {
    const text = say(numbers, state);
    if (place.textContent !== text) place.textContent = text;
  });
  return place;
};

live.facts = (view, rows) =>
  live.make(
    "table.live-facts",
    {},
    live.make(
      "tbody",
      {},
      rows.map(([label, path, options]) =>
        live.make(
          "tr",
          {},
          live.make("th", { scope: "row" }, label),
          live.make("td", {}, live.number(view, path, options)),
        ),
      ),
    ),
  );

// --- controls -----------------------------------------------------------------------------

live.slider = (view, key, { label, min, max, step, digits = 2, role = null }) => {
  const id = `${view.id}-${key}`;
  const input = live.make("input", {
    id, type: "range", min, max, step, "data-control": key,
    oninput: () => view.set(key, Number(input.value)),
  });
  const shown = live.make("output", { for: id });
  view.each((_, state) => {
    if (Number(input.value) !== state[key]) input.value = state[key];
    shown.textContent = live.text(state[key], digits);
  });
  const tag = `label${role ? `.${role}` : ""}`;
  return live.make("div.live-control", {}, live.make(tag, { for: id }, label), input, shown);
};

live.toggle = (view, key, { label }) => {
  const id = `${view.id}-${key}`;
  const input = live.make("input", {
    id, type: "checkbox", "data-control": key,
    onchange: () => view.set(key, input.checked),
  });
  view.each((_, state) => {
    input.checked = state[key];
  });
  return live.make("div.live-control", {}, input, live.make("label", { for: id }, label));
};

// One of several: radio buttons, so that arrow keys move between them.
live.choice = (view, key, { label, options }) => {
  const name = `${view.id}-${key}`;
  const inputs = options.map(([value, text]) => {
    const input = live.make("input", {
      type: "radio", name, value, "data-control": key,
      onchange: () => view.set(key, value),
    });
    return [value, input, live.make("label", {}, input, live.make("span", {}, live.word(text)))];
  });
  view.each((_, state) => {
    for (const [value, input] of inputs) input.checked = value === state[key];
  });
  return live.make(
    "fieldset.live-choice",
    {},
    live.make("legend", {}, label),
    inputs.map(([, , labelled]) => labelled),
  );
};

live.button = (label, press) => live.make("button.live-button", { type: "button", onclick: press }, label);

// --- grids of numbers ------------------------------------------------------------------------

// Cells whose shade says how large they are, each with its number: never colour alone.
// `shade` gives 0..1 (or −1..1, then the sign chooses the colour) for a number.
live.grid = (view, { path, rows, columns, caption, role = "weights", digits = 2, shade = (x) => x,
  corner = "", pick = null, picked = null }) => {
  const cells = rows.map((_, i) =>
    columns.map((_, j) => {
      const number = live.number(view, `${path}.${i}.${j}`, { digits });
      const cell = live.make("td", {}, number);
      view.each((numbers) => {
        const level = shade(live.at(numbers, path)[i][j]);
        const share = Math.round(Math.min(1, Math.abs(level)) * 55);
        const colour = level < 0 ? "var(--live-negative)" : `var(--live-${role})`;
        cell.style.background = `color-mix(in srgb, ${colour} ${share}%, transparent)`;
      });
      return cell;
    }),
  );
  const heads = rows.map((word, i) => {
    if (!pick) return live.make("th", { scope: "row" }, live.word(word));
    const button = live.button(live.word(word), () => pick(i));
    button.dataset.control = "row";
    view.each((_, state) => button.setAttribute("aria-pressed", String(picked(state) === i)));
    return live.make("th", { scope: "row" }, button);
  });
  const table = live.make(
    "table.live-grid",
    {},
    live.make("caption", {}, caption),
    live.make(
      "thead",
      {},
      live.make(
        "tr",
        {},
        live.make("td", {}, corner),
        columns.map((word) => live.make("th", { scope: "col" }, live.word(word))),
      ),
    ),
    live.make(
      "tbody",
      {},
      cells.map((row, i) => {
        const line = live.make("tr", {}, heads[i], row);
        if (picked) view.each((_, state) => line.classList.toggle("picked", picked(state) === i));
        return line;
      }),
    ),
  );
  // A box of its own, so that a wide table scrolls and the page does not; by keyboard, too.
  return live.make(
    "div.live-scroll",
    { tabindex: 0, role: "group", "aria-label": caption },
    table,
  );
};

// --- a plane with vectors ----------------------------------------------------------------------

live.plane = (view, { reach, label }) => {
  const size = 320;
  const unit = size / (2 * reach);
  const to = ([x, y]) => [size / 2 + x * unit, size / 2 - y * unit];
  const svg = live.make("svg.live-plane", { viewBox: `0 0 ${size} ${size}`, role: "group", "aria-label": label });
  const back = live.make("g.live-back", { "aria-hidden": "true" });
  for (let n = -reach; n <= reach; n += 1) {
    const [x, y] = to([n, n]);
    const axis = n === 0 ? "line.axis" : "line";
    back.append(
      live.make(axis, { x1: x, y1: 0, x2: x, y2: size }),
      live.make(axis, { x1: 0, y1: y, x2: size, y2: y }),
    );
  }
  svg.append(back);
  const round = (value, step) => {
    const snapped = Math.round(value / step) * step;
    return Math.min(reach, Math.max(-reach, Number(snapped.toFixed(4))));
  };
  return {
    svg,
    line: (name, ends) => {
      const line = live.make(`line.${name}`, { "aria-hidden": "true" });
      svg.append(line);
      view.each((numbers, state) => {
        const points = ends(numbers, state);
        line.style.display = points ? "" : "none";
        if (!points) return;
        const [[x1, y1], [x2, y2]] = points.map(to);
        for (const [key, value] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(key, value);
      });
    },
    // An arrow from the origin whose tip can be taken: by mouse, finger, or arrow keys.
    handle: (key, { role, name, step = 0.1 }) => {
      const shaft = live.make(`line.arrow.${role}`, { "aria-hidden": "true" });
      const head = live.make(`polygon.arrow.${role}`, { "aria-hidden": "true" });
      const halo = live.make("circle.halo", { r: 22 });
      const knob = live.make(`circle.knob.${role}`, { r: 7 });
      const text = live.make(`text.${role}`, { "aria-hidden": "true" }, name);
      const grip = live.make("g.live-grip", {
        tabindex: 0, role: "slider", "data-control": key, "aria-label": `tip of ${name}, arrow keys move it`,
        "aria-valuemin": -reach, "aria-valuemax": reach,
      }, halo, knob);
      const move = (x, y) => view.set(key, [round(x, step), round(y, step)]);
      const drag = (event) => {
        const box = svg.getBoundingClientRect();
        move(
          ((event.clientX - box.left) / box.width - 0.5) * 2 * reach,
          (0.5 - (event.clientY - box.top) / box.height) * 2 * reach,
        );
      };
      grip.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        grip.focus();
        grip.setPointerCapture(event.pointerId);
        grip.addEventListener("pointermove", drag);
      });
      for (const end of ["pointerup", "pointercancel"]) {
        grip.addEventListener(end, () => grip.removeEventListener("pointermove", drag));
      }
      grip.addEventListener("keydown", (event) => {
        const by = event.shiftKey ? 1 : step;
        const moves = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] };
        if (!(event.key in moves)) return;
        event.preventDefault();
        const [x, y] = view.get(key);
        move(x + moves[event.key][0], y + moves[event.key][1]);
      });
      svg.append(shaft, head, text, grip);
      view.each((_, state) => {
        const [x, y] = to(state[key]);
        const [ox, oy] = to([0, 0]);
        const length = Math.hypot(x - ox, y - oy);
        const [ux, uy] = length ? [(x - ox) / length, (y - oy) / length] : [0, 0];
        const back = Math.min(length, 12);
        for (const [k, v] of Object.entries({ x1: ox, y1: oy, x2: x - ux * back, y2: y - uy * back })) shaft.setAttribute(k, v);
        const base = [x - ux * 14, y - uy * 14];
        head.setAttribute("points", `${x},${y} ${base[0] - uy * 6},${base[1] + ux * 6} ${base[0] + uy * 6},${base[1] - ux * 6}`);
        head.style.display = length > 14 ? "" : "none";
        halo.setAttribute("cx", x); halo.setAttribute("cy", y);
        knob.setAttribute("cx", x); knob.setAttribute("cy", y);
        text.setAttribute("x", Math.min(size - 14, Math.max(14, x + (ux >= 0 ? 12 : -22))));
        text.setAttribute("y", Math.min(size - 6, Math.max(16, y - 10)));
        grip.setAttribute("aria-valuenow", state[key][0]);
        grip.setAttribute("aria-valuetext", `${live.text(state[key][0], 1)} right, ${live.text(state[key][1], 1)} up`);
      });
    },
  };
};
