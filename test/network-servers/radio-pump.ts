/** Devices of class A that send again and again, so that waiting downlinks can be sent. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LorawanDevice } from '../../simulator/lorawan/device.ts'

/**
 * How long a device listens after an uplink. ChirpStack answers within some 350 ms, a busy one
 * later. If a device sent again before the answer, it would get two downlinks with one frame
 * counter.
 */
const LISTENING_MS = 1_500

/**
 * The time from an answer to the next uplink, in which ChirpStack stores the sent downlink. With a
 * real radio the answer takes longer than that.
 */
const BETWEEN_MS = 400

/**
 * Each unfinished device sends an uplink and, after its answer or the time for it, the next. False:
 * some are not finished in time.
 */
export async function pumpUntil(
  devices: readonly LorawanDevice[],
  isDone: (device: LorawanDevice) => boolean,
  withinMs: number,
): Promise<boolean> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const open = devices.filter((device) => !isDone(device))
    if (open.length === 0) return true
    if (performance.now() > deadline) return false
    await Promise.all(open.map(ask))
  }
}

/** Sends an uplink and listens for the answer to it. */
export async function ask(device: LorawanDevice): Promise<void> {
  const answer = device.nextFrame(undefined, LISTENING_MS).then(
    () => sleep(BETWEEN_MS),
    () => {},
  )
  await device.uplink(2, Buffer.from([0]))
  await answer
}

/** The one-byte payloads of the application's downlinks that a device has got, in order. */
export function bytesOf(device: LorawanDevice): number[] {
  return device.received.map(({ payload }) => payload[0] ?? -1)
}
