/**
 * Fits names, descriptions and tags of another system into the rules of the registry: too long
 * values are cut, never refused.
 */

/** The registry's bounds, in characters. */
const NAME_LENGTH = 100
const DESCRIPTION_LENGTH = 1000
const MAXIMUM_PAIRS = 32
const PAIR_LENGTH = 1000

/** A name on one line; the id when nothing of the name is left. */
export function nameOf(name: string, id: string): string {
  const line = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .trim()
  return line === '' ? id : cut(line, NAME_LENGTH)
}

/** A text that may have several lines. */
export function descriptionOf(text: string): string {
  return cut(paragraphOf(text), DESCRIPTION_LENGTH)
}

/** Tags or variables: those whose names are names here, and as many as a device may have. */
export function pairsOf(pairs: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const fitting = Object.entries(pairs)
    .filter(([key]) => key !== '' && key === nameOf(key, ''))
    .slice(0, MAXIMUM_PAIRS)
    .map(([key, value]) => [key, cut(paragraphOf(value), PAIR_LENGTH)] as const)
  return Object.fromEntries(fitting)
}

function paragraphOf(text: string): string {
  return text.toWellFormed().replaceAll(/(?![\t\n\r])\p{Cc}/gu, ' ')
}

/** Cuts by code points, so that no surrogate pair is split. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : Array.from(text).slice(0, length).join('')
}
