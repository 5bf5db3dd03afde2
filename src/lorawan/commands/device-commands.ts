/**
 * The commands of devices, as those see them who send, list and cancel commands. The queue may be
 * at this node, or at another node of the deployment.
 */
import type { PublishConsumer } from '../../broker/ports/consumer.ts'
import type { PassingCommandEvents } from './command-events.ts'
import type { CommandResult } from './command.ts'
import type { CommandWait } from './command-waits.ts'
import type { CommandAnswer, Commands, CommandTarget, Flushed } from './commands.ts'
import type { DownlinkItem } from './downlink-item.ts'
import type { Cancellation } from './downlink-queue.ts'

/** A command as it is listed. */
export interface ListedCommand extends Pick<
  DownlinkItem,
  'content' | 'state' | 'createdAtMs' | 'leftAtMs' | 'transmittedAtMs' | 'fCnt' | 'failure'
> {
  /** Why the command waits now; undefined when it waits for nothing. */
  readonly wait: CommandWait | undefined
}

/** The node that keeps the queue does not answer. The change that was asked may have happened. */
export type QueueAway = 'away'

export interface DeviceCommands {
  /** As `Commands.submit`. */
  submit(target: CommandTarget, read: CommandResult): Promise<CommandAnswer>
  /**
   * The known commands of the device: first the waiting ones in the order of sending, then the
   * others, the latest first; at most 200.
   */
  list(organizationId: string, target: CommandTarget): Promise<readonly ListedCommand[] | QueueAway>
  /** Cancels a command that waits. */
  cancel(organizationId: string, target: CommandTarget, id: string): Promise<Cancellation | QueueAway>
  /** As `Commands.flush`. */
  flush(organizationId: string, target: CommandTarget): Promise<Flushed | undefined | QueueAway>
}

/** The ways on which commands, and events about commands, come in. */
export interface CommandWays {
  readonly commands: DeviceCommands
  /** The consumers of the topics of commands. */
  readonly consumers: readonly PublishConsumer[]
  /** Reads the events of network servers, which report what became of commands. */
  readonly events: PassingCommandEvents
}

/** The commands of a deployment of one node. */
export function deviceCommandsOf(commands: Commands): DeviceCommands {
  return {
    submit: (target, read) => commands.submit(target, read),
    list: async (organizationId, { devEui }) =>
      commands.list(organizationId, devEui).map((item) => listed(item, commands.waitOf(item))),
    cancel: (organizationId, { devEui }, id) => commands.cancel(organizationId, devEui, id),
    flush: (organizationId, target) => commands.flush(organizationId, target),
  }
}

function listed(item: DownlinkItem, wait: CommandWait | undefined): ListedCommand {
  const { content, state, createdAtMs, leftAtMs, transmittedAtMs, fCnt, failure } = item
  return { content, state, createdAtMs, leftAtMs, transmittedAtMs, fCnt, failure, wait }
}
