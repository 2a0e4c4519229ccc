// Reads {module, states} from stdin, writes the numbers that the figure shows in each state.
// With `data`, a model in the form that a page loads, the figure gets it first.
import { readFileSync } from "node:fs";

const { module, states, data } = JSON.parse(readFileSync(0, "utf8"));
const figure = (await import(module)).default;
if (data) figure.use(data, Buffer.from(data.float16, "base64"));
const special = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
process.stdout.write(JSON.stringify(states.map(figure.numbers), special));
