// Reads {module, texts, answers} from stdin: texts with a unit to read as numbers, and answers with
// the state of their question. Writes the numbers and the verdicts.
import { readFileSync } from "node:fs";

const { module, texts, answers } = JSON.parse(readFileSync(0, "utf8"));
const { readNumber, verdict } = await import(module);
process.stdout.write(
  JSON.stringify({
    read: texts.map(([text, unit]) => readNumber(text, unit)),
    verdicts: answers.map(([state, given]) => verdict(state, given)),
  }),
);
