// Reads {module, states} from stdin, writes the numbers that the figure shows in each state.
import { readFileSync } from "node:fs";

const { module, states } = JSON.parse(readFileSync(0, "utf8"));
const figure = (await import(module)).default;
const special = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
process.stdout.write(JSON.stringify(states.map(figure.numbers), special));
