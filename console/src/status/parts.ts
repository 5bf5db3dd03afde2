/** The parts of the service, in words. */
const PARTS: Readonly<Record<string, string>> = {
  broker: 'Broker',
  messages: 'Storing messages',
  registry: 'Registry',
  disk: 'Disk',
}

/** The name of a part for people. */
export function partLabel(name: string): string {
  return PARTS[name] ?? name
}
