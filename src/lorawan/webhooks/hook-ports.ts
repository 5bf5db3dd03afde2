/** The ports of webhooks to the rooms and services that they need. */
import type { Engine } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Webhook, WebhookPauseCode } from '../../webhook-settings.ts'
import type { DeviceCommands } from '../commands/device-commands.ts'
import type { DurableState } from '../commands/durable-state.ts'
import type { ArrivalIndex } from './arrival-index.ts'
import type { ReadTurns } from './read-turns.ts'
import type { WebhookClient } from './webhook-request.ts'

/** The registry, as far as webhooks need it. */
export interface WebhookRegistry {
  all(): Promise<readonly Webhook[]>
  find(id: string): Promise<Webhook | undefined>
  /** Stores that the webhook is paused, with an entry in the audit. Rejects when it can't. */
  pause(
    webhook: Pick<Webhook, 'id' | 'organizationId'>,
    pause: { readonly code: WebhookPauseCode; readonly reason: string },
  ): Promise<void>
  applicationsOf(organizationId: string): ReadonlySet<string> | Promise<ReadonlySet<string>>
  /** ms since 1970; undefined for an application that does not exist. */
  applicationCreatedAtMs(applicationId: string): Promise<number | undefined>
  tagsOf(devEui: string): Promise<Readonly<Record<string, string>>>
  /** Where the device is now; undefined for a device that does not exist. */
  placeOf(devEui: string): Promise<{ readonly applicationId: string; readonly organizationId: string } | undefined>
}

/** Numbers of all webhooks for the metrics. They begin at 0 with each start. */
export interface WebhookCounters {
  requests: number
  requestsFailed: number
  eventsDelivered: number
  eventsSkipped: number
  eventsMissed: number
  commandsQueued: number
  pauses: number
}

/** Counters that begin at 0. */
export function createWebhookCounters(): WebhookCounters {
  return {
    requests: 0,
    requestsFailed: 0,
    eventsDelivered: 0,
    eventsSkipped: 0,
    eventsMissed: 0,
    commandsQueued: 0,
    pauses: 0,
  }
}

/** The ports that all webhooks of a process share. */
export interface WebhookPorts {
  readonly log: Pick<Engine, 'partitions' | 'tail' | 'scan' | 'read'>
  readonly partitionOf: (topicPrefix: string) => number
  readonly state: DurableState
  readonly registry: WebhookRegistry
  readonly commands: Pick<DeviceCommands, 'submit'>
  /** The organization's name as the log knows it: its bound of stored bytes removes messages. */
  readonly tenantOf: (organizationId: string) => string
  readonly createClient: () => Pick<WebhookClient, 'send' | 'close'>
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** The ports, with the parts that all webhooks share while they run. */
export interface HookSharing extends WebhookPorts {
  readonly turns: ReadTurns
  readonly arrivals: ArrivalIndex
  readonly counters: WebhookCounters
}
