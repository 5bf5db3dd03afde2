/** The commands of a device: the waiting ones, and the fate of the others. */
import { useQuery } from '@tanstack/react-query'
import { request } from './request.ts'

export interface QueuedCommand {
  readonly id: string
  readonly confirmed: boolean
  readonly fPort: number
  /** The bytes of the command in base64. */
  readonly data: string
  /** queued, sent, acknowledged, not_acknowledged, unconfirmed, failed, expired or cancelled. */
  readonly state: string
  readonly createdAt: string
  readonly leftQueueAt: string | null
  readonly transmittedAt: string | null
  readonly fCnt: number | null
  /** The stable code of the failure; "" where the command did not fail. */
  readonly code: string
  /** The sentence of the failure; "" where the command did not fail. */
  readonly error: string
  /** The reason why the command waits; "" where it does not wait. */
  readonly waitReason: string
}

/** The interval of the requests for the list. Events that change the list cause requests too. */
const ASKING_MS = 10_000

/** The key of a device's commands in the cache. */
export function deviceQueueKey(devEui: string): readonly string[] {
  return ['device-queue', devEui]
}

/**
 * The commands of a device of the last day: the waiting ones in their order, then the others, the
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

/** Takes a command that has not been sent out of the queue. */
export function cancelCommand(devEui: string, id: string): Promise<unknown> {
  return request('DELETE', `/api/devices/${devEui}/queue/${encodeURIComponent(id)}`)
}
