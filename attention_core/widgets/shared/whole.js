/**
 * Write a whole number in groups of three digits.
 *
 * @type {(value: number) => string}
 */
export const wholeNumber = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
