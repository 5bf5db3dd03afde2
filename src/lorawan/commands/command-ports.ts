/** The ports of commands to the rest of the service. Each part picks the ports that it uses. */
import type { Publisher } from '../../broker/ports/consumer.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { CommandRegistry, DownlinkEncoder } from './command-registry.ts'
import type { DownlinkQueueLimits } from './downlink-queue-limits.ts'
import type { DurableState } from './durable-state.ts'
import type { NetworkServer } from './network-server.ts'

/** The application and the organization to which a device belongs now. */
export interface DevicePlace {
  readonly applicationId: string
  readonly organizationId: string
  readonly isDisabled: boolean
}

/** Looks devices up; answers at once where it can. */
export interface DevicePlaces {
  device(devEui: string): DevicePlace | undefined | Promise<DevicePlace | undefined>
}

export interface CommandPorts {
  readonly state: DurableState
  readonly publisher: Publisher
  /** The network server of the application's devices; undefined when there is none. */
  readonly serverOf: (applicationId: string) => NetworkServer | undefined
  readonly places: DevicePlaces
  readonly registry: CommandRegistry
  readonly encoder: DownlinkEncoder
  readonly clock: Clock
  /**
   * When the device was last heard of; undefined when that was long ago, or never. Commands only
   * look whether the value has changed.
   */
  readonly heardAtMs: (devEui: string) => number | undefined
  /** How long a network server may say nothing about a command that it has taken. */
  readonly wordWaitMs: number
  /** Commands that may wait for all devices of the organization. */
  readonly maximumWaitingOf: (organizationId: string) => number
  /** Called when this node has learnt whether the application's events name commands. */
  readonly onNaming?: (applicationId: string, isNamed: boolean) => void
  readonly log: Logger
  readonly limits?: DownlinkQueueLimits
}
