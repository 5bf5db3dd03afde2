/** The commands of a deployment of several nodes, with all their parts. */
import type { Clock } from '../../../clock.ts'
import type { Bus, Nodes } from '../../../nodes.ts'
import type { CommandWays } from '../device-commands.ts'
import type { Downlinks } from '../downlinks.ts'
import { CommandEventsOfNodes } from './command-events-of-nodes.ts'
import { CommandsOfNodes } from './commands-of-nodes.ts'
import { QueueHomes } from './queue-homes.ts'

export interface WaysOfNodes extends CommandWays {
  readonly events: CommandEventsOfNodes
  /** The homes of the command queues. */
  readonly homes: QueueHomes
}

interface Naming {
  readonly applicationId: string
  readonly isNamed: boolean
}

const NAMING = 'commands.naming'

/** Tells the other nodes whether the application's events name commands (`CommandNaming`). */
export function tellNaming(bus: Bus, naming: Naming): void {
  bus.cast(NAMING, Buffer.from(JSON.stringify(naming)))
}

/**
 * Puts the ways together: commands and events reach the queue at its home, and this node goes on
 * with the queues of a dead node whose heir it is.
 */
export function waysOfNodes(
  downlinks: Downlinks,
  { nodes, clock }: { readonly nodes: Nodes; readonly clock: Clock },
): WaysOfNodes {
  const homes = new QueueHomes({ nodes, clock })
  const commands = new CommandsOfNodes({ homes, commands: downlinks.commands, here: downlinks.ways().commands })
  const events = new CommandEventsOfNodes({ homes, here: downlinks.events, clock })
  nodes.onInherited((inheritance) => downlinks.load((prefix) => inheritance.load(prefix)))
  // Commands that a network server at the lost node had not acknowledged can go elsewhere.
  nodes.onGone(() => downlinks.ready())
  nodes.bus.hear(NAMING, (body) => {
    const { applicationId, isNamed } = JSON.parse(body.toString()) as Naming
    downlinks.naming.learn(applicationId, isNamed)
  })
  return { commands, consumers: downlinks.consumersFor(commands), events, homes }
}
