// Reads {module, data, texts} from stdin: runs the model of transformer.js on each list of ids,
// and writes the decoded ids with their logits, and the milliseconds for a token.
import { readFileSync } from "node:fs";

const { module, data, texts } = JSON.parse(readFileSync(0, "utf8"));
const { createModel } = await import(module);
const started = performance.now();
const model = createModel(data, Buffer.from(data.base64, "base64"));
const unpacked = performance.now();
const runs = texts.map((ids) => model.translate(ids, { bos: 1, eos: 2, most: 40 }));
const steps = runs.reduce((sum, { logits }) => sum + logits.length, 0);
const token = (performance.now() - unpacked) / steps;
process.stdout.write(JSON.stringify({ runs, token, unpacking: unpacked - started }));
