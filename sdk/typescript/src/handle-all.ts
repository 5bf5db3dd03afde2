/** Hands events to a handler: those of one device one after the other, others side by side. */
import type { FieldgateEvent } from './event.ts'
import type { EventStream } from './event-stream.ts'

/** Resolves at the end of the stream. Rejects with the first error of the handler or the stream. */
export async function handleAll(
  stream: EventStream,
  concurrency: number,
  handler: (event: FieldgateEvent) => Promise<void> | void,
): Promise<void> {
  /** By device: the end of the last of its events that is being handled. */
  const devices = new Map<string, Promise<void>>()
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  try {
    while (failures.length === 0) {
      const entry = await stream.take()
      if (entry === undefined) break
      const event = entry.event as FieldgateEvent
      const before = devices.get(event.devEui)
      const run = async (): Promise<void> => {
        await before
        if (failures.length > 0) return
        try {
          await handler(event)
          await stream.handled(entry)
        } catch (error) {
          failures.push(error)
        }
      }
      const handled = run().finally(() => {
        running.delete(handled)
        if (devices.get(event.devEui) === handled) devices.delete(event.devEui)
      })
      devices.set(event.devEui, handled)
      running.add(handled)
      if (running.size >= concurrency) await Promise.race(running)
    }
    await Promise.all(running)
  } finally {
    await stream.return()
  }
  if (failures.length > 0) throw failures[0]
}
