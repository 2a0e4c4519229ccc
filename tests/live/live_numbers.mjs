// Reads {module, states} from stdin, writes the numbers that the figure shows in each state.
// With `data`, a list of models in the form that a page loads, the figure gets them first.
import { readFileSync } from "node:fs";

const { module, states, data } = JSON.parse(readFileSync(0, "utf8"));
const figure = (await import(module)).default;
for (const one of data ?? []) figure.use(one, Buffer.from(one.base64, "base64"));
const special = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
process.stdout.write(JSON.stringify(states.map(figure.numbers), special));
