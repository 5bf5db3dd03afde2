/** FPorts as a person types them: numbers and ranges with commas between them, like `1, 5-8`. */
import type { FPortRule } from '../api/device-profiles.ts'

/** The last FPort. */
const MAXIMUM_PORT = 255

/** The FPorts in the text, each once and in order; undefined for another text. */
export function portsOf(text: string): readonly number[] | undefined {
  const ports = new Set<number>()
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const [, first = '', last = first] = /^\s*(\d{1,3})\s*(?:[-–]\s*(\d{1,3})\s*)?$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (first === '' || from < 1 || to > MAXIMUM_PORT || to < from) return undefined
    for (let port = from; port <= to; port += 1) ports.add(port)
  }
  return [...ports].toSorted((one, other) => one - other)
}

/** The FPorts with the use, as a text. Three and more FPorts in a row become a range. */
export function portsText(rules: readonly FPortRule[], use: FPortRule['use']): string {
  const ports = rules.flatMap((rule) => (rule.use === use ? [rule.fPort] : [])).toSorted((one, other) => one - other)
  const parts: string[] = []
  for (let at = 0; at < ports.length;) {
    let end = at
    while (ports[end + 1] === Number(ports[end]) + 1) end += 1
    // Two in a row are shorter as two numbers.
    if (end === at + 1) end = at
    parts.push(end === at ? String(ports[at]) : `${ports[at]}-${ports[end]}`)
    at = end + 1
  }
  return parts.join(', ')
}
