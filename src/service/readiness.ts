/** Whether this node takes clients and can write: load balancers and health checks ask for it. */
import type { Broker } from '../broker/broker.ts'
import type { Engine } from '../broker/ports/engine.ts'
import type { BrokerView } from '../http/operation/operation.ts'
import type { Registry } from '../identity/registry.ts'
import type { Nodes } from '../nodes.ts'

export interface ReadinessParts {
  readonly broker: Pick<Broker, 'isClosing' | 'isDraining'>
  readonly engine: Pick<Engine, 'health'>
  readonly registry: Pick<Registry, 'health'>
}

/** The answer at this moment; the reason is that of the first fault. */
export function readinessOf(
  { broker, engine, registry }: ReadinessParts,
  nodes: Pick<Nodes, 'isCutOff'> | undefined,
): ReturnType<BrokerView['health']> {
  const messages = engine.health()
  const faults = [
    broker.isClosing ? 'shutting down' : '',
    broker.isDraining ? 'draining' : '',
    messages.canWrite ? '' : messages.reason,
    nodes?.isCutOff === true ? 'this node can’t reach the other nodes' : '',
    registry.health(),
  ]
  const reason = faults.find((fault) => fault !== '') ?? ''
  return { ready: reason === '', reason }
}
