/** A number with its noun in the singular or plural: `1 device`, `17 devices`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
