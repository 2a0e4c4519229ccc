// The shapes in a Transformer of given sizes, and each part's parameters and multiplications.

/** @type {(sizes: number[]) => number} */
export const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** @type {(sizes: any) => Record<string, Record<string, number[]>>} */
export const shapesOf = ({
  batch_size: B,
  src_length: S,
  tgt_length: L,
  d_model: d,
  num_heads: H,
  d_ff: inner,
  src_vocab_size: source,
  tgt_vocab_size: target,
}) => {
  const attention = (queries, keys) => ({
    q: [B, H, queries, d / H],
    k: [B, H, keys, d / H],
    v: [B, H, keys, d / H],
    weights: [B, H, queries, keys],
    out: [B, queries, d],
  });
  const feedForward = (length) => ({
    in: [B, length, d],
    inner: [B, length, inner],
    out: [B, length, d],
  });
  return {
    src_embedding: { in: [B, S], table: [source, d], out: [B, S, d] },
    encoder_self_attention: attention(S, S),
    encoder_feed_forward: feedForward(S),
    memory: { out: [B, S, d] },
    tgt_embedding: { in: [B, L], table: [target, d], out: [B, L, d] },
    decoder_self_attention: attention(L, L),
    cross_attention: attention(L, S),
    decoder_feed_forward: feedForward(L),
    output: { in: [B, L, d], table: [target, d], out: [B, L, target] },
  };
};

export const numbers = (state) => {
  const { d_model: d, d_ff: inner, num_layers: layers, tie_embeddings: tied } = state;
  /** @type {Record<string, any>} */
  const parts = {};
  const learned = { tables: 0, attention: 0, feed_forward: 0, norms: 0 };
  for (const [name, shape] of Object.entries(shapesOf(state))) {
    /** @type {Record<string, any>} */
    const part = { ...shape };
    let [own, times, multiplied] = [0, 1, 0];
    if (shape.q) {
      own = 4 * d * d + 4 * d;
      times = layers;
      multiplied =
        2 * product(shape.q) * d +
        2 * product(shape.k) * d +
        2 * product(shape.q) * shape.weights[3];
      part.weights_count = product(shape.weights);
      learned.attention += times * own;
    } else if (shape.inner) {
      own = 2 * d * inner + inner + d;
      times = layers;
      multiplied = 2 * product(shape.in) * inner;
      learned.feed_forward += times * own;
    } else if (shape.table) {
      own = name === "output" || !tied ? product(shape.table) : 0;
      multiplied = name === "output" ? product(shape.out) * d : 0;
      learned.tables += own;
    }
    part.own = own;
    part.norm = shape.q || shape.inner ? 2 * d : 0;
    learned.norms += times * part.norm;
    part.learned = times * (own + part.norm);
    part.multiplications = times * multiplied;
    parts[name] = part;
  }
  const sum = (key) => Object.values(parts).reduce((total, part) => total + part[key], 0);
  const whole = { learned: sum("learned"), layers, multiplications: sum("multiplications") };
  for (const part of Object.values(parts)) part.share = (100 * part.learned) / whole.learned;
  /** @type {Record<string, number>} */
  const kinds = {};
  for (const [kind, number] of Object.entries(learned))
    kinds[kind] = (100 * number) / whole.learned;
  return { parts, kinds, whole };
};
