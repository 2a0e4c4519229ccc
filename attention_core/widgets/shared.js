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
  let text = value.toFixed(digits);
  // In a tie, as 0.125 with two digits, toFixed goes away from zero, Python to the even digit.
  const exact = value.toFixed(digits + 30);
  if (/^50*$/.test(exact.slice(-30))) {
    const cut = exact.slice(0, -30).replace(/\.$/, "");
    if (Number(cut.at(-1)) % 2 === 0) text = cut;
  }
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
  /[\u3007\u3400-\u9fff\uff00-\uffef]/.test(text)
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
  // JupyterLab takes arrow keys for its cells, unless the very element that has them says no.
  root.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
  el.append(root);
  let structure = null;
  const update = () => {
    const state = view.state();
    // Other words, or tables of another size, need other elements.
    const wanted = JSON.stringify(figure.structure?.(state) ?? "always");
    if (wanted !== structure) {
      structure = wanted;
      places.length = 0;
      root.replaceChildren(...[figure.build(view)].flat());
    }
    const numbers = figure.numbers(state);
    for (const place of places) place(numbers, state);
  };
  for (const key of keys) model.on(`change:${key}`, update);
  update();
  // For the tests: what the figure stands at, and what it says.
  root.figure = { state: view.state, numbers: () => figure.numbers(view.state()), set: view.set,
    put: (state) => model.set(state) };
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

// A table cell with a share of `whole`, which is 1: the number, and a bar behind it.
live.bar = (view, path, options = {}) => {
  const cell = live.make("td.live-bar", {}, live.number(view, path, options));
  const { whole = 1 } = options;
  view.each((numbers) => cell.style.setProperty("--share", `${(100 * live.at(numbers, path)) / whole}%`));
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
        // Not stronger: the number on it must be legible on the dark page, too.
        const share = Math.round(Math.min(1, Math.abs(level)) * 40);
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

// A finger that begins here moves this, and not the page. (Browsers do not heed touch-action
// on parts of a drawing.)
live.holdPage = (element) =>
  element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });

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
      live.holdPage(grip);
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

// --- cells to paint and to pick (for `heads`) --------------------------------------------------

// A table of numbers, as wide as its place. `paint` says of a cell how strong its colour is (−1
// to 1; below 0 and above in two colours, or that of a role) and which marks, names of classes,
// it bears. `bands` gives the heads of the columns anew for each state, each with the number of
// columns that it spans. With `pick`, cells are buttons, one tab stop for all: arrow keys go on
// to the next and pick it. `caption` may hold elements; `label` says it in words.
live.cells = (view, { path, rows, columns, caption, label = caption, paint, corner = "", digits = 2,
  role = null, bands = null, pick = null, picked = null, control = "cell" }) => {
  const insides = rows.map((_, i) => columns.map((_, j) => {
    const number = live.number(view, `${path}.${i}.${j}`, { digits, role });
    const inside = pick
      ? live.make("button.live-cell", { type: "button", "data-control": control }, number)
      : live.make("span.live-cell", {}, number);
    view.each((numbers, state) => {
      const { level = 0, role: shade = null, marks = {} } = paint(numbers, state, i, j);
      const share = Math.round(Math.min(1, Math.abs(level)) * 40);
      const colour = shade ? `var(--live-${shade})` : level < 0 ? "var(--live-negative)" : "var(--live-positive)";
      inside.style.background = `color-mix(in srgb, ${colour} ${share}%, var(--live-surface))`;
      for (const [mark, on] of Object.entries(marks)) inside.classList.toggle(mark, on);
    });
    return inside;
  }));
  if (pick) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    insides.forEach((line, i) => line.forEach((button, j) => {
      button.addEventListener("click", () => pick(i, j));
      button.addEventListener("keydown", (event) => {
        const [down, right] = steps[event.key] || [0, 0];
        const next = insides[i + down]?.[j + right];
        if (!(down || right) || !next) return;
        event.preventDefault();
        next.focus();
        pick(i + down, j + right);
      });
    }));
    view.each((_, state) => {
      const [row, column] = picked(state);
      insides.forEach((line, i) => line.forEach((button, j) => {
        const here = i === row && j === column;
        button.setAttribute("aria-pressed", String(here));
        button.tabIndex = here ? 0 : -1;
      }));
    });
  }
  const top = live.make("tr");
  const name = ([text, span]) =>
    live.make("th", { scope: span > 1 ? "colgroup" : "col", colspan: span }, live.word(text));
  let before = null;
  view.each((_, state) => {
    const texts = bands ? bands(state) : columns.map((text) => [text, 1]);
    if (String(texts) === before) return;
    before = String(texts);
    top.replaceChildren(live.make("td", {}, corner), ...texts.map(name));
  });
  const table = live.make(
    "table.live-cells",
    {},
    live.make("caption", {}, caption),
    live.make("thead", {}, top),
    live.make("tbody", {}, rows.map((word, i) => live.make(
      "tr",
      {},
      live.make("th", { scope: "row" }, live.word(word)),
      insides[i].map((inside) => live.make("td", {}, inside)),
    ))),
  );
  return live.make("div.live-scroll", { tabindex: 0, role: "group", "aria-label": label }, table);
};

// --- numbers of one token (for `norm_residual`) ------------------------------------------------

// A slider for one number of a list, without its label.
live.entry = (view, key, index, { label, min, max, step }) => {
  const input = live.make("input.live-entry", {
    type: "range", min, max, step, "aria-label": label, "data-control": key,
    oninput: () => view.set(key, view.get(key).map((x, i) => (i === index ? Number(input.value) : x))),
  });
  view.each((_, state) => {
    if (Number(input.value) !== state[key][index]) input.value = state[key][index];
  });
  return input;
};

// A table cell whose bar goes left or right from its middle. `reach` is what fills a half.
live.signed = (view, path, { reach, digits = 4 }) => {
  const cell = live.make("td.live-signed", {}, live.make("div", {}, live.make("i"), live.number(view, path, { digits })));
  view.each((numbers, state) => {
    const share = Math.max(-1, Math.min(1, live.at(numbers, path) / reach(numbers, state)));
    cell.style.setProperty("--from", `${50 + 50 * Math.min(0, share)}%`);
    cell.style.setProperty("--to", `${50 + 50 * Math.max(0, share)}%`);
  });
  return cell;
};

// Small bars, one group for each row of numbers, drawn to the largest of them all.
live.bars = (view, rows, { label, width = 9, height = 30 }) => {
  const svg = live.make("svg.live-bars", { role: "img" });
  view.each((numbers, state) => {
    const found = rows(numbers, state);
    const top = Math.max(...found.flat().map(Math.abs)) || 1;
    const wide = found.map((row) => row.length * (width + 3));
    const total = wide.reduce((a, b) => a + b + 8, -11);
    svg.setAttribute("viewBox", `0 0 ${total} ${height}`);
    svg.setAttribute("aria-label", `${label}: ${found.map((row) => row.map((x) => live.text(x, 2)).join(", ")).join("; ")}`);
    let left = 0;
    const groups = found.map((row, i) => {
      const group = live.make(`g.row-${i}`);
      row.forEach((value, j) => {
        const high = Math.max(0.75, (Math.abs(value) / top) * (height / 2));
        const y = value < 0 ? height / 2 : height / 2 - high;
        group.append(live.make("rect", { x: left + j * (width + 3), y, width, height: high }));
      });
      left += wide[i] + 8;
      return group;
    });
    svg.replaceChildren(live.make("line", { x1: 0, y1: height / 2, x2: total, y2: height / 2 }), ...groups);
  });
  return svg;
};

// --- scaling: one unit cut into shares ------------------------------------------------------

// The numbers stand beside it; equal places of the cuts in several rows show equal shares.
live.shares = (view, path, number) => {
  const parts = Array.from({ length: number }, () => live.make("span"));
  view.each((numbers) => {
    live.at(numbers, path).forEach((share, i) => { parts[i].style.width = `${100 * share}%`; });
  });
  return live.make("div.live-shares", { "aria-hidden": "true" }, parts);
};

// --- mask_painter: a table of yes and no, painted by hand -----------------------------------

// Each cell is a button: a click turns it round, a drag gives all cells on its way what the
// first one got. One stop for the tab key; arrow keys move inside. `path` is the number that
// stands in a cell while it is on, `sums` one at the end of each row.
live.paint = (view, key, { path, rows, columns, caption, label, sums = null, digits = 2 }) => {
  const is = (i, j) => Boolean(view.get(key)[i][j]);
  const put = (i, j, value) => {
    if (is(i, j) === value) return;
    view.set(key, view.get(key).map((row, m) => row.map((x, n) => (m === i && n === j ? value : x))));
  };
  const places = new Map();
  let stroke = null; // what the drag paints
  let pressed = null; // the button whose click the drag has already answered
  const cells = rows.map((row, i) =>
    columns.map((column, j) => {
      const button = live.make("button", {
        type: "button", tabindex: i + j ? -1 : 0, "data-control": key, "aria-label": label(row, column),
        onpointerdown: (event) => {
          if (event.button) return;
          pressed = button;
          stroke = !is(i, j);
          put(i, j, stroke);
        },
        onclick: () => {
          if (pressed === button) pressed = null;
          else put(i, j, !is(i, j));
        },
        onfocus: () => cells.flat().forEach((other) => { other.tabIndex = other === button ? 0 : -1; }),
      }, live.number(view, `${path}.${i}.${j}`, { digits }));
      places.set(button, [i, j]);
      view.each((numbers) => {
        button.setAttribute("aria-pressed", String(is(i, j)));
        button.style.setProperty("--share", `${Math.round(34 * live.at(numbers, path)[i][j])}%`);
      });
      return button;
    }),
  );
  const table = live.make(
    "table.live-paint", { role: "grid", "aria-label": caption },
    live.make("caption", {}, caption),
    live.make("thead", {}, live.make(
      "tr", {}, live.make("td"),
      columns.map((word) => live.make("th", { scope: "col" }, live.word(word))),
      sums ? live.make("th", { scope: "col" }, "sum") : null,
    )),
    live.make("tbody", {}, rows.map((word, i) => {
      const sum = sums ? live.make("td.sum", {}, live.number(view, `${sums}.${i}`, { digits })) : null;
      if (sum) view.each((numbers) => sum.classList.toggle("nothing", live.at(numbers, sums)[i] === 0));
      return live.make(
        "tr", {}, live.make("th", { scope: "row" }, live.word(word)),
        cells[i].map((button) => live.make("td", {}, button)), sum,
      );
    })),
  );
  const end = () => { stroke = null; };
  for (const kind of ["pointerup", "pointercancel"]) table.addEventListener(kind, end);
  table.addEventListener("pointermove", (event) => {
    if (stroke === null) return;
    if (!event.buttons) return end(); // let go outside
    // A fast hand passes several cells between two events.
    for (const { clientX, clientY } of [...(event.getCoalescedEvents?.() ?? []), event]) {
      const place = places.get(table.getRootNode().elementFromPoint(clientX, clientY)?.closest("button"));
      if (place) put(...place, stroke);
    }
  });
  table.addEventListener("keydown", (event) => {
    const place = places.get(event.target);
    if (!place) return;
    pressed = null; // a click from here on is the keyboard's
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -columns.length], End: [0, columns.length] };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [i, j] = place.map((x, axis) =>
      Math.max(0, Math.min([rows, columns][axis].length - 1, x + moves[event.key][axis])));
    cells[i][j].focus();
  });
  return live.make("div.live-scroll", {}, table);
};

// --- query_key_value: arrows that follow, a tip that turns and stretches them ----------------

// What drawing in a `live.plane` needs: its size, and the way from numbers to pixels.
live.pixels = (svg, reach) => {
  const size = Number(svg.getAttribute("viewBox").split(" ")[2]);
  return { size, to: ([x, y]) => [size / 2 + (x * size) / (2 * reach), size / 2 - (y * size) / (2 * reach)] };
};

// Arrows from the origin that only show; the first is stronger. Names stand beyond the tips,
// or beside them, so that two sets on one line can be read.
live.arrows = (view, svg, { reach, role, tips, names, offset = "beyond" }) => {
  const { size, to } = live.pixels(svg, reach);
  const [ox, oy] = to([0, 0]);
  names.forEach((name, i) => {
    const strong = i === 0 ? "strong" : "weak";
    const shaft = live.make(`line.arrow.${role}.${strong}`, { "aria-hidden": "true" });
    const head = live.make(`polygon.arrow.${role}`, { "aria-hidden": "true" });
    const text = live.make(`text.${role}.${strong}`, { "aria-hidden": "true" }, name);
    svg.append(shaft, head, text);
    view.each((numbers) => {
      const [x, y] = to(tips(numbers)[i]);
      const length = Math.hypot(x - ox, y - oy);
      const [ux, uy] = length ? [(x - ox) / length, (y - oy) / length] : [0, -1];
      const [back, half] = [Math.min(length, 12), i === 0 ? 6 : 4.5];
      for (const [k, v] of Object.entries({ x1: ox, y1: oy, x2: x - ux * back, y2: y - uy * back })) shaft.setAttribute(k, v);
      head.setAttribute("points", `${x},${y} ${x - ux * 12 - uy * half},${y - uy * 12 + ux * half} ${x - ux * 12 + uy * half},${y - uy * 12 - ux * half}`);
      head.style.display = length > 12 ? "" : "none";
      const [along, aside] = offset === "beyond" ? [18, 0] : [0, i === 0 ? 22 : 16];
      const inside = (value) => Math.min(size - 12, Math.max(12, value));
      text.setAttribute("x", inside(x + ux * along - uy * aside));
      text.setAttribute("y", inside(y + uy * along + ux * aside));
    });
  });
};

// A tip to take: by mouse or finger anywhere, by arrow keys around the origin (left, right)
// and away from it (up, down). Angles snap to 5 degrees, lengths to 0.1.
live.turner = (view, svg, { reach, longest = reach, role, control, label, tip, move }) => {
  const { to } = live.pixels(svg, reach);
  const halo = live.make("circle.halo", { r: 20 });
  const knob = live.make(`circle.knob.${role}`, { r: 7 });
  const grip = live.make("g.live-grip", {
    tabindex: 0, role: "slider", "data-control": control, "aria-label": label,
    "aria-valuemin": -180, "aria-valuemax": 180,
  }, halo, knob);
  let [angle, length] = [0, 0]; // in degrees from the right, anticlockwise
  const place = (degrees, size) => {
    // Whole turns of 5 degrees and tenths, exactly: 90 degrees give a 0, not 6e-17.
    const [a, n] = [Math.round(degrees / 5) * 5, Math.min(longest, Math.max(0, Math.round(size * 10) / 10))];
    const tidy = (value) => Number((value * n).toFixed(12));
    move([tidy(Math.cos((a * Math.PI) / 180)), tidy(Math.sin((a * Math.PI) / 180))]);
  };
  const drag = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width - 0.5) * 2 * reach;
    const y = (0.5 - (event.clientY - box.top) / box.height) * 2 * reach;
    place((Math.atan2(y, x) * 180) / Math.PI, Math.hypot(x, y));
  };
  live.holdPage(grip);
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
    const [turn, stretch] = event.shiftKey ? [45, 1] : [5, 0.1];
    const steps = { ArrowLeft: [turn, 0], ArrowRight: [-turn, 0], ArrowUp: [0, stretch], ArrowDown: [0, -stretch] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    place(angle + steps[event.key][0], length + steps[event.key][1]);
  });
  svg.append(grip);
  view.each((numbers) => {
    const at = tip(numbers);
    length = live.norm(at);
    // A tip at the origin has no angle; it keeps the one it had.
    if (length > 1e-9) angle = (Math.atan2(at[1], at[0]) * 180) / Math.PI;
    const [x, y] = to(at);
    for (const circle of [halo, knob]) {
      circle.setAttribute("cx", x);
      circle.setAttribute("cy", y);
    }
    grip.setAttribute("aria-valuenow", Math.round(angle));
    grip.setAttribute("aria-valuetext", `${Math.round(angle)} degrees, length ${live.text(length, 1)}`);
  });
};

// A table cell that is shaded by a share between 0 and 1, with another number below it.
live.shaded = (view, { path, role = "weights", small = null, digits = 2 }) => {
  const cell = live.make(
    "td.live-shaded", {},
    live.number(view, path, { digits }),
    small && live.make("small", {}, live.number(view, small, { digits })),
  );
  view.each((numbers) => {
    const share = Math.round(40 * Math.min(1, Math.abs(live.at(numbers, path))));
    cell.style.background = `color-mix(in srgb, var(--live-${role}) ${share}%, transparent)`;
  });
  return cell;
};

// --- wheels with hands, and charts of lines (for `positions`) ------------------------------------

// A circle with hands that start at the top and turn clockwise: `at` gives [right, up] of a tip.
// `wedge` gives an angle and by how much it goes on from there, in radians.
live.wheel = (view, { hands, wedge = null, label = null, names = null, knob = 4 }) => {
  const spot = ([right, up], r = 84) => [100 + right * r, 100 - up * r];
  const svg = live.make("svg.live-wheel", label
    ? { viewBox: "0 0 200 200", role: "img", "aria-label": label }
    : { viewBox: "0 0 200 200", "aria-hidden": "true" });
  const back = live.make(
    "g.live-back", {},
    live.make("line", { x1: 16, y1: 100, x2: 184, y2: 100 }),
    live.make("line", { x1: 100, y1: 16, x2: 100, y2: 184 }),
    live.make("circle", { cx: 100, cy: 100, r: 84 }),
  );
  svg.append(back);
  if (wedge) {
    const area = live.make("path.wedge");
    svg.append(area);
    view.each((numbers, state) => {
      const [from, turn] = wedge(numbers, state);
      const by = Math.min(Math.abs(turn), 2 * Math.PI - 1e-3) * Math.sign(turn);
      const [a, b] = [from, from + by].map((angle) => spot([Math.sin(angle), Math.cos(angle)], 50));
      const [large, sweep] = [Number(Math.abs(by) > Math.PI), Number(by > 0)];
      area.setAttribute("d", `M100,100 L${a} A50,50 0 ${large} ${sweep} ${b} Z`);
    });
  }
  for (const { role, dashed, at } of hands) {
    const hand = live.make(`line.hand.${role}${dashed ? ".dashed" : ""}`, { x1: 100, y1: 100 });
    const tip = live.make(`circle.${role}`, { r: knob });
    svg.append(hand, tip);
    view.each((numbers, state) => {
      const end = at(numbers, state);
      hand.style.display = tip.style.display = end ? "" : "none";
      if (!end) return;
      const [x, y] = spot(end);
      for (const [key, value] of Object.entries({ x2: x, y2: y })) hand.setAttribute(key, value);
      for (const [key, value] of Object.entries({ cx: x, cy: y })) tip.setAttribute(key, value);
    });
  }
  if (names) {
    svg.append(
      live.make("text", { x: 200, y: 197, "text-anchor": "end" }, `${names[0]} →`),
      live.make("text", { x: 0, y: 14 }, `↑ ${names[1]}`),
    );
  }
  return svg;
};

// Numbers at 0, 1, 2, ... as a line, from −most to most, which is a number or the path of one;
// `mark` says which of them is marked.
live.chart = (view, { path, role, most, mark, label, across = "" }) => {
  const [left, right, top, bottom] = [30, 312, 10, 122];
  const svg = live.make("svg.live-chart", { viewBox: "0 0 320 142", role: "img", "aria-label": label });
  const axis = live.make("line.axis", { x1: left, x2: right });
  const rule = live.make("line.rule", { y1: top, y2: bottom });
  const line = live.make(`path.${role}`);
  const dots = live.make(`path.${role}.dots`);
  const knob = live.make(`circle.${role}`, { r: 5 });
  const tick = (attributes = {}) => live.make("text", { "text-anchor": "end", ...attributes });
  const [high, zero, low, last] = [
    tick(typeof most === "string" ? { "data-key": most, "data-digits": 0 } : {}), tick(), tick(), tick(),
  ];
  const back = live.make("g.live-back", {}, axis);
  svg.append(back, rule, line, dots, knob, high, zero, low, last,
    live.make("text", { x: left, y: 138 }, "0"), live.make("text", { x: (left + right) / 2, y: 138, "text-anchor": "middle" }, across));
  const put = (element, attributes) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  };
  view.each((numbers, state) => {
    const values = live.at(numbers, path);
    const to = typeof most === "string" ? live.at(numbers, most) : most;
    const from = -to;
    const x = (i) => left + ((right - left) * i) / (values.length - 1);
    const y = (value) => bottom - ((bottom - top) * (value - from)) / (to - from);
    const points = values.map((value, i) => `${x(i).toFixed(2)},${y(value).toFixed(2)}`);
    put(line, { d: `M${points.join(" L")}` });
    put(dots, { d: points.map((point) => `M${point} h0`).join(" ") });
    const at = mark(numbers, state);
    put(rule, { x1: x(at), x2: x(at) });
    put(knob, { cx: x(at), cy: y(values[at]) });
    put(axis, { y1: y(0), y2: y(0) });
    for (const [text, value] of [[high, to], [zero, 0], [low, from]]) {
      put(text, { x: left - 6, y: y(value) + 4 });
      text.textContent = live.text(value, 0);
    }
    put(last, { x: right, y: 138 });
    last.textContent = values.length - 1;
  });
  return svg;
};

// --- parts made anew (for `attention_map` and `translator`) -------------------------------------

// A part whose elements depend on the state: it is made again when what `sign` lists changes.
// `make` gets a view of its own, and the numbers of the part before it are forgotten with it.
live.part = (view, sign, make) => {
  const place = live.make("div.live-part");
  let places = [];
  let before = null;
  view.each((numbers, state) => {
    const now = sign(numbers, state);
    if (!before || now.some((value, i) => value !== before[i])) {
      before = now;
      places = [];
      const own = { ...view, each: (one) => places.push(one) };
      place.replaceChildren(...[make(own, numbers, state)].flat());
    }
    for (const one of places) one(numbers, state);
  });
  return place;
};

// --- counts and shapes (for `shapes`) -----------------------------------------------------------

live.whole = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

// A whole number in groups of three digits; as its number of digits it gives the tests −1.
live.count = (view, path, { role = null } = {}) => {
  const place = live.make(`output.live-number${role ? `.${role}` : ""}`, { "data-key": path, "data-digits": -1 });
  view.each((numbers) => {
    place.textContent = live.whole(live.at(numbers, path));
  });
  return place;
};

// The sizes of a tensor's axes, as Python writes them.
live.shape = (view, path, { axes, role = null }) => {
  const sizes = Array.from({ length: axes }, (_, i) => live.count(view, `${path}.${i}`));
  const inner = sizes.flatMap((size, i) => (i ? [", ", size] : [size]));
  return live.make(`span.live-shape${role ? `.${role}` : ""}`, {}, "(", inner, ")");
};

// A slider over listed values, which may depend on the state; a value between two is shown
// as it is, with the knob at the nearest. Its label and its value stand above it.
live.dial = (view, key, { label, values, set, text = (state) => live.whole(state[key]) }) => {
  const id = `${view.id}-${key}`;
  const input = live.make("input", {
    id, type: "range", min: 0, step: 1, "data-control": key,
    oninput: () => set(values(view.state())[Number(input.value)], view.state()),
  });
  const shown = live.make("output", { for: id });
  view.each((_, state) => {
    const listed = values(state);
    const away = listed.map((value) => Math.abs(Math.log(value / state[key])));
    input.max = listed.length - 1;
    input.value = away.indexOf(Math.min(...away));
    shown.textContent = text(state);
    input.setAttribute("aria-valuetext", shown.textContent);
  });
  return live.make("div.live-dial", {}, live.make("label", { for: id }, label), shown, input);
};
