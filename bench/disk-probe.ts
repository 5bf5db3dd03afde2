/**
 * The disk's own time, measured beside a broker that waits for it: appends as many bytes as a small
 * batch of messages has to a file of the same folder, syncs them, and does so again after a pause.
 * No durable acknowledgement comes earlier than such a sync.
 */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LatencyHistogram } from './load/latency-histogram.ts'
import type { Percentiles } from './load/latency-histogram.ts'

/** A dozen messages of the scenarios, as a batch at half of the throughput has. */
const BATCH_BYTES = 4_096
/** Long enough that the probe takes little of the disk from the broker. */
const PAUSE_MS = 20

/** Runs the function with the probe beside it. Returns its result, and the times of the probe. */
export async function besideProbe<T>(
  directory: string,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly sync: Percentiles }> {
  const ended = new AbortController()
  const probing = probe(join(directory, 'sync-probe'), ended.signal)
  try {
    const result = await run()
    ended.abort()
    return { result, sync: await probing }
  } finally {
    ended.abort()
    await probing
  }
}

async function probe(path: string, ended: AbortSignal): Promise<Percentiles> {
  const times = new LatencyHistogram()
  const bytes = Buffer.alloc(BATCH_BYTES, 0x2e)
  const file = await open(path, 'w', 0o600)
  try {
    while (!ended.aborted) {
      const beganAtMs = performance.now()
      await file.appendFile(bytes)
      await file.datasync()
      times.record(performance.now() - beganAtMs)
      await sleep(PAUSE_MS)
    }
  } finally {
    await file.close()
    await rm(path)
  }
  return times.percentiles()
}
