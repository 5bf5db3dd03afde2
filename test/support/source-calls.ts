/** Finds calls in source text, for tests that compare the sources with the documentation. */

/**
 * The arguments, as text, of each call of a function or method with this name; its declaration does
 * not count.
 */
export function argumentsOfCalls(source: string, name: string): string[][] {
  const calls = source.matchAll(new RegExp(String.raw`(?<!function )(?<![\w#])${name}\(`, 'g'))
  return Array.from(calls, (call) => splitArguments(source, call.index + call[0].length))
}

/** Splits at the commas that belong to the call whose first argument begins at `start`. */
function splitArguments(source: string, start: number): string[] {
  const found: string[] = []
  let depth = 0
  let from = start
  for (let index = start; index < source.length; index += 1) {
    const character = source[index] as string
    if (character === "'" || character === '"' || character === '`') index = endOfText(source, index)
    else if (source.startsWith('//', index)) index = source.indexOf('\n', index)
    else if ('([{'.includes(character)) depth += 1
    else if (character === ',' && depth === 0) {
      found.push(source.slice(from, index).trim())
      from = index + 1
    } else if (')]}'.includes(character)) {
      if (depth === 0) return [...found, source.slice(from, index).trim()]
      depth -= 1
    }
  }
  throw new Error('a call without an end')
}

/**
 * The index of the quote that ends the text; the braces of a template hold no quote of its kind
 * here.
 */
function endOfText(source: string, start: number): number {
  const quote = source[start]
  let index = start + 1
  while (source[index] !== quote) index += source[index] === '\\' ? 2 : 1
  return index
}
