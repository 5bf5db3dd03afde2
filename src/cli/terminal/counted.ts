/** A number with its noun, which takes an `s` but for one: `1 device`, `17 devices`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
