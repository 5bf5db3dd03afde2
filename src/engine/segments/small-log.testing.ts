/** A small log on a simulated disk, for tests that damage it. */
import { given } from '../../given.ts'
import type { Logger } from '../../logger.ts'
import { EmbeddedEngine } from '../embedded.ts'
import { append, changesOf, messageOf } from '../engine-client.testing.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { TestClock } from '../../clock.testing.ts'

/** The log's first segment. */
export const FIRST = '/data/log/00000000000000000001.log'

/** A logger that keeps the messages that it gets: `error log.damaged`. */
export function recordingLogger(): { readonly logger: Logger; readonly messages: string[] } {
  const messages: string[] = []
  const note = (level: string) => (_: object, message: string) => void messages.push(`${level} ${message}`)
  return { logger: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }, messages }
}

/** Opens an engine with segments of some 2,000 bytes. */
export async function openOn(disk: SimulatedDisk, logger?: Logger, partitions = 2): Promise<EmbeddedEngine> {
  const options = {
    directory: '/data',
    partitions,
    clock: new TestClock(),
    gatherMs: 0,
    segmentBytes: 2_000,
    tailBytes: 0,
  }
  const engine = new EmbeddedEngine({ disk, ...options, ...given({ logger }) })
  await engine.open()
  return engine
}

/**
 * The disk of a closed log with `count` messages, the even ones in partition 0. Each message also
 * sets the key `last` of the state.
 */
export async function filled(count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const engine = await openOn(disk)
  for (let number = 0; number < count; number += 1) {
    await append(engine, number % 2, messageOf('a/b', `${number}`.padEnd(100)), changesOf({ last: `${number}` }))
  }
  await engine.close()
  return disk
}
