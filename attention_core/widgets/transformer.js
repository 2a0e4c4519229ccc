// The forward pass of attention_core's Transformer in plain JavaScript. The parameters are
// stored as float16; all sums are in float64. A vector is a list of numbers, and a text is a list
// of vectors, one for each character. Only for pre-norm models, one text at a time.

import { softmax } from "./shared/math.js";

// A plain loop, because nearly all of the time is spent here.
const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};

// Decode a float16: 1 sign bit, 5 bits of exponent, 10 of fraction.
const powers = Array.from({ length: 31 }, (_, exponent) => 2 ** (exponent - 25));
const half = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * powers[exponent];
};

// The parameters by name: vectors, and matrices as lists of rows.
const unpack = (shapes, bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const vector = (width) => {
    const numbers = new Float64Array(width);
    for (let i = 0; i < width; i += 1, at += 2) numbers[i] = half(view.getUint16(at, true));
    return numbers;
  };
  const parameters = {};
  for (const [name, [length, width]] of shapes) {
    parameters[name] =
      width === undefined ? vector(length) : Array.from({ length }, () => vector(width));
  }
  if (at !== bytes.byteLength) throw new Error(`expected ${at} bytes, got ${bytes.byteLength}`);
  return parameters;
};

const layerNorm = (x, { weight, bias }, eps = 1e-5) => {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const centred = x.map((value) => value - mean);
  const root = Math.sqrt(dot(centred, centred) / x.length + eps);
  return centred.map((value, i) => (value / root) * weight[i] + bias[i]);
};

// Each output is one row of the matrix times x, plus its bias.
const linear = (x, { weight, bias }) => weight.map((row, i) => dot(row, x) + (bias ? bias[i] : 0));

const feedForward = (x, { inner, outer }) =>
  linear(
    linear(x, inner).map((value) => Math.max(0, value)),
    outer,
  );

// Attention of one query: softmax of the scaled dot products, and the weighted mean of values.
const attend = (query, keys, values) => {
  const weights = softmax(keys.map((key) => dot(query, key) / Math.sqrt(query.length)));
  const mixed = query.map((_, j) =>
    values.reduce((sum, value, i) => sum + weights[i] * value[j], 0),
  );
  return { weights, mixed };
};

const split = (x, heads) => {
  const width = x.length / heads;
  return Array.from({ length: heads }, (_, h) => x.slice(h * width, (h + 1) * width));
};

// Append the keys and values of one more vector to a memory (a key-value cache), head by head.
const remember = (memory, x, part, heads) => {
  for (const name of ["keys", "values"]) {
    const projected = linear(x, name === "keys" ? part.k_proj : part.v_proj);
    for (const [h, own] of split(projected, heads).entries()) {
      memory[name][h] ??= [];
      memory[name][h].push(own);
    }
  }
};

const multiHead = (x, memory, part, heads) => {
  const seen = split(linear(x, part.q_proj), heads).map((query, h) =>
    attend(query, memory.keys[h], memory.values[h]),
  );
  return {
    weights: seen.map(({ weights }) => weights),
    output: linear(
      seen.flatMap(({ mixed }) => mixed),
      part.out_proj,
    ),
  };
};

// The sinusoidal encoding of one position: sines and cosines alternate.
const position = (n, width) =>
  Array.from({ length: width }, (_, j) => {
    const angle = n * Math.exp((j - (j % 2)) * (-Math.log(10000) / width));
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });

// Make a model from its config, the names and shapes of its tensors, and their bytes.
export const createModel = ({ config, shapes }, bytes) => {
  const { d_model: width, num_heads: heads } = config;
  if (!config.norm_first) throw new Error("the model must be pre-norm");
  const parameters = unpack(shapes, bytes);

  // parts.encoder.layers[0].feed_forward.inner.weight and so on
  const parts = {};
  for (const [name, value] of Object.entries(parameters)) {
    const path = name.split(".");
    const last = path.pop();
    path.reduce((node, key) => (node[key] ||= {}), parts)[last] = value;
  }
  const layersOf = (stack) => Object.values(stack.layers);
  const plus = (x, y) => x.map((value, i) => value + y[i]);
  const embed = (table, id, n) =>
    plus(
      Array.from(table.weight[id], (value) => value * Math.sqrt(width)),
      position(n, width),
    );
  const feed = (x, layer) =>
    plus(x, feedForward(layerNorm(x, layer.feed_forward_norm), layer.feed_forward));

  // Encode a source: from its ids to one vector for each.
  const encode = (ids) => {
    let xs = ids.map((id, n) => embed(parts.src_embedding, id, n));
    for (const layer of layersOf(parts.encoder)) {
      const normed = xs.map((x) => layerNorm(x, layer.self_attention_norm));
      const memory = { keys: [], values: [] };
      for (const x of normed) remember(memory, x, layer.self_attention, heads);
      xs = xs.map((x, i) =>
        plus(x, multiHead(normed[i], memory, layer.self_attention, heads).output),
      );
      xs = xs.map((x) => feed(x, layer));
    }
    return xs.map((x) => layerNorm(x, parts.encoder.norm));
  };

  // Make a decoder that has read nothing yet. It caches the keys and values of each token that
  // it reads. No token looks ahead, so they never change.
  const start = (encoded) =>
    layersOf(parts.decoder).map((layer) => {
      const cross = { keys: [], values: [] };
      for (const x of encoded) remember(cross, x, layer.cross_attention, heads);
      return { layer, own: { keys: [], values: [] }, cross };
    });

  // Read one more token; return the logits of the next, and the cross-attention of each layer.
  const step = (decoder, id, n) => {
    let x = embed(parts.tgt_embedding, id, n);
    const cross = [];
    for (const { layer, own, cross: source } of decoder) {
      const normed = layerNorm(x, layer.self_attention_norm);
      if (id !== config.pad_id) remember(own, normed, layer.self_attention, heads);
      x = plus(x, multiHead(normed, own, layer.self_attention, heads).output);
      const looked = multiHead(
        layerNorm(x, layer.cross_attention_norm),
        source,
        layer.cross_attention,
        heads,
      );
      cross.push(looked.weights);
      x = feed(plus(x, looked.output), layer);
    }
    return { logits: linear(layerNorm(x, parts.decoder.norm), parts.output), cross };
  };

  /** @typedef {{ ids: number[], logits: number[][], cross: number[][][][] }} Run */

  // Take the likeliest token at every step, until the end or `most` tokens. PAD and BOS are
  // never taken.
  const translate = (ids, { bos, eos, most }) => {
    const decoder = start(encode(ids));
    /** @type {Run} */
    const run = { ids: [], logits: [], cross: [] };
    for (let id = bos; run.logits.length < most; run.ids.push(id)) {
      const { logits, cross } = step(decoder, id, run.ids.length);
      run.logits.push(logits);
      run.cross.push(cross);
      const never = (token) => token !== eos && (token === bos || token === config.pad_id);
      const allowed = logits.map((logit, token) => (never(token) ? -Infinity : logit));
      id = allowed.indexOf(Math.max(...allowed));
      if (id === eos) break;
    }
    return run;
  };

  return { config, encode, start, step, translate };
};
