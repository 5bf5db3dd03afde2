/** Nodes with commands within one process, for tests: each with a state of its own. */
import { TestClock } from '../../../clock.testing.ts'
import { LocalDeployment } from '../../../nodes.testing.ts'
import type { LocalNode } from '../../../nodes.testing.ts'
import { readCommand } from '../command.ts'
import type { CommandPorts } from '../command-ports.ts'
import type { CommandAnswer } from '../commands.ts'
import { DEVICE, MemoryState, openTestDownlinks } from '../downlinks.testing.ts'
import type { TestDownlinks } from '../downlinks.testing.ts'
import { tellNaming, waysOfNodes } from './ways-of-nodes.ts'
import type { WaysOfNodes } from './ways-of-nodes.ts'

export interface NodeWithCommands {
  readonly node: LocalNode
  readonly state: MemoryState
  readonly downlinks: TestDownlinks
  readonly ways: WaysOfNodes
  /** Sends a command to the device of tests, or to another one. */
  send(id: string | undefined, more?: object, devEui?: string): Promise<CommandAnswer>
  /** The device's commands, as `id state`. */
  standing(): Promise<readonly string[]>
  /** An event of the device comes in; resolves with the payload that goes on. */
  event(kind: string, members: object): Promise<Record<string, unknown>>
}

export interface NodesWithCommands {
  readonly clock: TestClock
  readonly deployment: LocalDeployment
  join(name: string): Promise<NodeWithCommands>
  /** Kills a node; resolves when the heir has its state. */
  kill(dead: NodeWithCommands, heir: NodeWithCommands): Promise<void>
  /** Lets the time pass in steps of 100 ms, and everything happen that it brings. */
  pass(ms: number): Promise<void>
}

export type PortsOfNode = (node: LocalNode, clock: TestClock, downlinks: () => TestDownlinks) => Partial<CommandPorts>

/** Begins a deployment without nodes. `portsOf` gives ports of a node that a test wants to see. */
export function openNodesWithCommands(portsOf: PortsOfNode): NodesWithCommands {
  const clock = new TestClock()
  const deployment = new LocalDeployment(clock)
  return {
    clock,
    deployment,
    async join(name) {
      const node = deployment.join(name)
      const state = new MemoryState()
      // oxlint-disable-next-line prefer-const -- the ports call the function later
      let downlinks: TestDownlinks
      downlinks = await openTestDownlinks({
        ...portsOf(node, clock, () => downlinks),
        onNaming: (applicationId, isNamed) => tellNaming(node.bus, { applicationId, isNamed }),
        state,
        clock,
      })
      const ways = waysOfNodes(downlinks, { nodes: node, clock })
      return { node, state, downlinks, ways, ...actionsOf(ways) }
    },
    async kill(dead, heir) {
      deployment.silence(dead.node)
      dead.downlinks.close()
      const entries = Array.from(dead.state.entries, ([key, value]) => ({ key, value }))
      for (const { key, value } of entries) heir.state.entries.set(key, value)
      await deployment.kill(dead.node, { heir: heir.node, entries })
    },
    async pass(ms) {
      await settle()
      for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
        clock.advance(Math.min(leftMs, 100))
        await settle()
      }
    },
  }
}

function actionsOf({ commands, events }: WaysOfNodes): Pick<NodeWithCommands, 'send' | 'standing' | 'event'> {
  return {
    send: (id, more = {}, devEui = DEVICE) =>
      commands.submit(
        { applicationId: '5', devEui },
        readCommand({ confirmed: false, fPort: 10, data: 'AQID', ...(id === undefined ? {} : { id }), ...more }),
      ),
    async standing() {
      const listed = await commands.list('1', { applicationId: '5', devEui: DEVICE })
      return listed === 'away' ? [listed] : listed.map(({ content, state }) => `${content.id} ${state}`)
    },
    async event(kind, members) {
      const payload = Buffer.from(JSON.stringify(members))
      const told = await events.told({ applicationId: '5', devEui: DEVICE, kind, payload })
      return JSON.parse(told.toString()) as Record<string, unknown>
    },
  }
}

/** Lets everything happen that needs no further time to pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
