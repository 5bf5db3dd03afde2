/** The status of all nodes: each node tells its own, and the asked node gathers them. */
import type { NodeStatus, ServiceStatus } from '../http/operation/status.ts'
import type { Nodes } from '../nodes.ts'

/** How long the nodes are asked: a person waits. */
const ASK_MS = 500
const KIND = 'views.status'

/** The status of this node with those of all nodes; answers the other nodes from here on. */
export function statusOfNodes(here: ServiceStatus, nodes: Pick<Nodes, 'bus' | 'living' | 'lost'>): ServiceStatus {
  const { bus } = nodes
  const answerHere = async (): Promise<NonNullable<NodeStatus['answer']>> => {
    const [parts, { connections, sessions }] = await Promise.all([here.health(), here.numbers()])
    return { parts, connections, sessions }
  }
  bus.serve(KIND, async () => Buffer.from(JSON.stringify(await answerHere())))
  return {
    version: here.version,
    runtime: here.runtime,
    startedAtMs: here.startedAtMs,
    uptimeMs: () => here.uptimeMs(),
    health: () => here.health(),
    numbers: () => here.numbers(),
    servers: () => here.servers(),
    lostNodes: () => nodes.lost(),
    async nodes() {
      const [own, { answers }] = await Promise.all([answerHere(), bus.gather(KIND, Buffer.alloc(0), ASK_MS)])
      const byIncarnation = new Map(
        answers.map(({ from, body }) => [from.incarnation, JSON.parse(body.toString()) as NodeStatus['answer']]),
      )
      byIncarnation.set(bus.self.incarnation, own)
      return nodes.living().map((node) => {
        const { name, version, isReady, startedAtMs, silentMs, incarnation } = node
        return { name, version, isReady, startedAtMs, silentMs, answer: byIncarnation.get(incarnation) }
      })
    },
  }
}
