import { make } from "./elements.js";
import { liveNumber } from "./numbers.js";

/** @typedef {import("./elements.js").Children} Children */

/**
 * Make a table of numbers, each with its name before it.
 *
 * @param {import("./figure.js").View} view
 * @param {[Children, string, { digits?: number, role?: string }?][]} rows a name, a path, options
 */
export const factTable = (view, rows) =>
  make(
    "table.live-facts",
    {},
    make(
      "tbody",
      {},
      rows.map(([label, path, options]) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, label),
          make("td", {}, liveNumber(view, path, options)),
        ),
      ),
    ),
  );
