/** A number of devices in words: `one device`, `1,204 devices`. */
export function counted(count: number): string {
  return count === 1 ? 'one device' : `${count.toLocaleString('en')} devices`
}
