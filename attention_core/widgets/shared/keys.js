/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * Return the direction of an arrow key as [right, up]; undefined for any other key.
 *
 * @type {(event: KeyboardEvent) => [number, number] | undefined}
 */
export const arrowOf = ({ key }) => ARROWS[key];
