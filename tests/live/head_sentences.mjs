// Reads {module, states, data} from stdin, writes for each state the numbers `top`, `word` and
// `times` of the figure of trained heads, and the sentence that states the result.
import { readFileSync } from "node:fs";

const { module, states, data } = JSON.parse(readFileSync(0, "utf8"));
const figure = (await import(module)).default;
for (const one of data) figure.use(one, Buffer.from(one.base64, "base64"));
const told = states.map((state) => {
  const shown = figure.numbers(state);
  const { top, word, times } = shown;
  return [[top, word, times], figure.say(shown, state)];
});
process.stdout.write(JSON.stringify(told));
