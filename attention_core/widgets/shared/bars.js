import { make, valueAt } from "./elements.js";
import { liveNumber } from "./numbers.js";

/**
 * A table cell with a share of `whole`: the number, and a bar behind it.
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
