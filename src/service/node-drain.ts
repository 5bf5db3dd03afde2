/** The orderly end of this node whose clients go elsewhere first. */
import type { Broker } from '../broker/broker.ts'
import type { Drain } from '../http/operation/drain.ts'
import type { Logger } from '../logger.ts'

export interface NodeDrainParts {
  readonly broker: Pick<Broker, 'drain' | 'isDraining' | 'isClosing' | 'counters'>
  readonly log: Logger
  /** Tells the other nodes that this one takes no new clients, and becomes no heir. */
  readonly refuseClients: () => void
  /** Told when the clients are gone, or could not be sent away: the process has to end. */
  readonly drained: () => void
}

/** Makes the drain of the node. It begins at most once. */
export function createNodeDrain({ broker, log, refuseClients, drained }: NodeDrainParts): Drain {
  return {
    begin: (seconds) => {
      if (broker.isDraining || broker.isClosing) return false
      log.info({ seconds, connections: broker.counters.connections }, 'service.draining')
      refuseClients()
      void broker.drain(seconds * 1_000).then(drained)
      return true
    },
    connections: () => broker.counters.connections,
  }
}
