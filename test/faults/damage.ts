/**
 * Damages a copy of the data directory at a random place. Whole records are served, and `fieldgate
 * check` reports the damage.
 */
import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spoil } from '../../src/engine/opening/spoil.testing.ts'
import type { RunningService } from '../support/running-service.ts'
import type { CheckEnd, Fault, FaultWorld } from './fault.ts'

export const DAMAGE_FAULTS: readonly Fault[] = [
  {
    name: 'damages a copy of the data',
    async run(world, random) {
      const signal = random() < 0.5 ? 'SIGTERM' : 'SIGKILL'
      const { folder, promised } = await world.copyData(signal)
      const file = await chooseFile(folder, random)
      const { what, content } = spoil(await readFile(join(folder, file)), random)
      if (content === undefined) await rm(join(folder, file))
      else await writeFile(join(folder, file), content)
      const told = `after ${signal}: ${file} ${what}`
      const end = await world.check(folder)
      const loss = lossOf(end)
      const served = await serve(world, folder, end, told)
      if (served === undefined) return `${told}: refused for its registry, as check says`
      const lost = [...promised].filter((key) => !served.has(key)).length
      assert.ok(
        lost <= loss.messages || loss.isTorn || loss.isRegistry,
        `${told}: ${lost} are lost, check says: ${end.text}`,
      )
      if (lost > 0) assert.ok(end.code === 2 || loss.isTorn, `${told}: check ends with ${end.code}`)
      return `${told}: ${lost} of ${promised.size} lost, ${loss.messages} told`
    },
  },
]

/**
 * A file, relative to the folder. If the folder has none of the chosen kind, another kind is
 * chosen.
 */
async function chooseFile(folder: string, random: () => number): Promise<string> {
  const kind = random()
  const [directory, ending] =
    kind < 0.5
      ? ['messages/log', '.log']
      : kind < 0.65
        ? ['messages/log', '.index']
        : kind < 0.8
          ? ['messages/state', '.snapshot']
          : ['.', 'registry.db']
  const names = await readdir(join(folder, directory))
  const files = names.filter((name) => name.endsWith(ending)).toSorted()
  const chosen = files[Math.floor(random() * files.length)]
  return chosen === undefined ? 'messages/format' : join(directory, chosen)
}

interface Loss {
  /** The largest number of lost messages. */
  readonly messages: number
  /**
   * True: the end of the log was torn. Nothing distinguishes its last records from a batch that was
   * never completed.
   */
  readonly isTorn: boolean
  readonly isRegistry: boolean
}

function lossOf({ text }: CheckEnd): Loss {
  const numbers = [...text.matchAll(/(\d+) messages? (?:is|are) lost|(\d+) (?:more|messages) at most/g)]
  const messages = numbers.reduce((sum, [, known, further]) => sum + Number(known ?? further), 0)
  return { messages, isTorn: /bytes at the end were not written/.test(text), isRegistry: /^registry: /m.test(text) }
}

/**
 * The history of a service on the copy; undefined: its registry can't be used, and check must have
 * reported that.
 */
async function serve(
  world: FaultWorld,
  folder: string,
  { code, text }: CheckEnd,
  told: string,
): Promise<ReadonlySet<string> | undefined> {
  let service: RunningService
  try {
    service = await world.startCopy(folder)
  } catch (error) {
    assert.ok(
      code === 2 && /^registry: /m.test(text),
      `${told}: the start is refused: ${String(error)}; check: ${text}`,
    )
    return undefined
  }
  try {
    return await world.history(service)
  } catch (error) {
    assert.match(text, /^registry: /m, `${told}: the history can't be read: ${String(error)}`)
    return undefined
  } finally {
    await service.stop()
  }
}
