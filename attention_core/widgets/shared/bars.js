import { make, valueAt } from "./elements.js";
import { liveNumber } from "./numbers.js";

/**
 * Make a table cell with a number, and behind it a bar for its share of `whole`.
 *
 * @param {import("./figure.js").View} view
 * @param {string} path
 * @param {{ digits?: number, role?: string | null, whole?: number }} [options]
 */
export const barCell = (view, path, options = {}) => {
  const cell = make("td.live-bar", {}, liveNumber(view, path, options));
  const { whole = 1 } = options;
  view.each((numbers) =>
    cell.style.setProperty("--share", `${(100 * valueAt(numbers, path)) / whole}%`),
  );
  return cell;
};
