/**
 * The commands of a device: those that wait, and what became of those that do not wait any more.
 */
import { useQuery } from '@tanstack/react-query'
import { request } from './request.ts'

export interface QueuedCommand {
  readonly id: string
  readonly confirmed: boolean
  readonly fPort: number
  /** Base64 of what is sent. */
  readonly data: string
  /** queued, sent, acknowledged, not_acknowledged, unconfirmed, failed, expired or cancelled. */
  readonly state: string
  readonly createdAt: string
  readonly leftQueueAt: string | null
  readonly transmittedAt: string | null
  readonly fCnt: number | null
  /** The stable word of why it failed; "" where it has not. */
  readonly code: string
  /** Why it failed; "" where it has not. */
  readonly error: string
  /** For what it waits; "" where it waits for nothing. */
  readonly waitReason: string
}

/** How often the list is asked for besides the events that change it. */
const ASKING_MS = 10_000

/** Key of a device's commands in the cache. */
export function deviceQueueKey(devEui: string): readonly string[] {
  return ['device-queue', devEui]
}

/**
 * The commands of a device of the last day: those that wait in their order, then the others, the
 * latest first.
 */
export function useDeviceQueue(devEui: string) {
  return useQuery({
    queryKey: deviceQueueKey(devEui),
    queryFn: async ({ signal }) => {
      const path = `/api/devices/${devEui}/queue`
      return (await request<{ readonly deviceQueueItems: readonly QueuedCommand[] }>('GET', path, { signal }))
        .deviceQueueItems
    },
    refetchInterval: ASKING_MS,
  })
}

/** Takes a command out of the queue that has not been sent. */
export function cancelCommand(devEui: string, id: string): Promise<unknown> {
  return request('DELETE', `/api/devices/${devEui}/queue/${encodeURIComponent(id)}`)
}
