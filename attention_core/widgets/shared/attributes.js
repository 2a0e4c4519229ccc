/** @type {(element: Element, attributes: Record<string, unknown>) => void} */
export const setAttributes = (element, attributes) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
};
