/** The versions of nats-server that keep the engine's promise at a bearable cost. */

const SMALLEST = [2, 15] as const

/**
 * True from nats-server 2.15 on: it syncs the Raft log once for each batch, where 2.14 took 2 to 11
 * times as long with `sync_interval: always`.
 */
export function isCurrentServer(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return major > SMALLEST[0] || (major === SMALLEST[0] && minor >= SMALLEST[1])
}
