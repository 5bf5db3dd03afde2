/** The shutdown of the service: the list of its steps, and a runner that keeps to the order. */

/**
 * The steps of the shutdown, in the order in which they run. A start that fails runs the same list;
 * steps of parts that were not opened are left out.
 */
export const SHUTDOWN_STEPS = [
  // 1. The node becomes no other node's heir any more.
  'heirs',
  // 2. Commands of other nodes are not taken any more: they wait for the heir of this node.
  'command queues',
  // 3. The listeners take no new connections, and the HTTP server no new requests.
  'admission',
  // 4. Kept events of devices that were not registered go out no more.
  'unknown devices',
  // 5. Events that wait for a codec go on now, while the broker can still own them.
  'uplinks',
  // 6. The states of devices are no longer looked at; a look under way can still tell of changes.
  'fleet',
  // 7. No inventory is imported any more; an import under way ends at its next page.
  'inventories',
  // 8. Presence is no longer written: the network servers that are connected now stay recorded as
  // connected until the service ends.
  'presence',
  // 9. Webhooks get their last answers, and their places are written.
  'webhooks',
  // 10. The broker ends all connections with their reason, and closes the engine.
  'broker',
  // 11. The last connections and requests under way are gone.
  'listeners',
  // 12. Certificate files are no longer watched.
  'certificates',
  // 13. Nothing is ticked any more.
  'ticks',
  // 14. The event loop's delay is no longer measured.
  'status',
  // 15. No more commands are offered to network servers.
  'downlinks',
  // 16. The network servers that are no clients of the broker are disconnected.
  'network servers',
  // 17. The snapshot of the retained messages was written to the end by the broker.
  'retained snapshot',
  // 18. The other nodes learn that this one has ended, and take its Sessions over.
  'nodes',
  // 19. The processes of tenants' scripts end.
  'codecs',
  // 20. The policy stops following the registry.
  'policy',
  // 21. The bounds of organizations stop following the registry.
  'bounds',
  // 22. The sightings of devices are written; they were gathered until the broker had closed.
  'sightings',
  // 23. Expired rows of the registry are no longer removed.
  'pruning',
  // 24. The registry's file is closed; no part above uses it any more.
  'registry',
  // 25. Another process may take the data directory.
  'data directory',
] as const

export type ShutdownStep = (typeof SHUTDOWN_STEPS)[number]

type Close = () => Promise<unknown> | void

/** Gathers how the opened parts are closed, and closes them in the order of `SHUTDOWN_STEPS`. */
export class Shutdown {
  readonly #steps = new Map<ShutdownStep, Close>()

  /** Adds how the part of this step is closed. An opener calls it as soon as the part is open. */
  add(step: ShutdownStep, close: Close): void {
    this.#steps.set(step, close)
  }

  /**
   * Runs each step that was added, once. A step that fails does not keep the later steps from
   * running; the first error is thrown at the end.
   */
  async run(): Promise<void> {
    const errors: unknown[] = []
    for (const step of SHUTDOWN_STEPS) {
      const close = this.#steps.get(step)
      this.#steps.delete(step)
      try {
        await close?.()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
