/**
 * `npm run codecs -- <folder>...`: each published example of each collection through the service's
 * own pool of scripts, with all its bounds, and through Node alone as the control. An example
 * counts only where the control gives the published result. Exit code 1 where the service differs.
 */
import { basename, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '../../src/clock.ts'
import { silentLogger } from '../../src/logger.ts'
import { Codecs } from '../../src/lorawan/codecs/codecs.ts'
import { readCollection } from './codec-collections.ts'
import type { Example } from './codec-collections.ts'
import { answerOf, runInNode } from './control.ts'
import type { Answer } from './control.ts'

const TOGETHER = 16
const SHOWN = 20
/**
 * The members of the input of a script, by TS013. Some examples need more, or another argument, as
 * only one server gives it.
 */
const INPUT = new Set(['bytes', 'fPort', 'recvTime', 'variables', 'data'])
const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d+Z/g

const folders = process.argv.slice(2)
if (folders.length === 0) {
  console.error('Name the folders of collections: npm run codecs -- <folder>...')
  process.exit(2)
}

const codecs = new Codecs({
  organizationOf: (applicationId) => applicationId.split('/')[1],
  clock: systemClock,
  log: silentLogger,
  workers: 2,
})
const rows: (readonly (string | number)[])[] = [
  ['collection', 'scripts', 'examples', 'equal', 'not in Node either', 'needs other input', 'the service differs'],
]
const differences: string[] = []
const totals = { examples: 0, equal: 0, wrong: 0, other: 0, differs: 0 }

for (const folder of folders) await check(folder)
await codecs.close()
const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length))) ?? []
for (const row of rows)
  console.log(
    row
      .map((cell, column) => String(cell).padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
for (const line of differences.slice(0, SHOWN)) console.log(line)
if (differences.length > SHOWN) console.log(`… and ${differences.length - SHOWN} more`)
const { examples, equal, wrong, other, differs } = totals
console.log(
  `${examples} examples: ${equal} equal, ${wrong} not in Node either, ${other} need other input, ${differs} where the service differs`,
)
process.exitCode = differs === 0 && examples > 0 ? 0 : 1

async function check(folder: string): Promise<void> {
  const collection = readCollection(resolve(folder))
  if (collection === undefined) {
    console.error(`${folder}: has none of the three layouts`)
    process.exit(2)
  }
  const count = { equal: 0, wrong: 0, other: 0, differs: 0 }
  const waiting = [...collection.examples]
  const one = async (): Promise<void> => {
    for (let example = waiting.shift(); example !== undefined; example = waiting.shift()) {
      const published = comparable(answerOf(example.operation, example.expected), example)
      const isRight = (given: Partial<Example>): boolean => {
        const control = comparable(runInNode({ ...example, ...given }), example)
        return !('thrown' in control) && isDeepStrictEqual(control, published)
      }
      const input = Object.fromEntries(Object.entries(example.input).filter(([name]) => INPUT.has(name)))
      const signature = example.signature === 'actility' ? 'lora-alliance' : example.signature
      if (!isRight({ input, signature })) {
        count[isRight({}) ? 'other' : 'wrong'] += 1
        continue
      }
      const ours = comparable(await runInService(example), example)
      if (isDeepStrictEqual(ours, published)) count.equal += 1
      else {
        count.differs += 1
        differences.push(`${example.file} (${example.name}): ${JSON.stringify(ours).slice(0, 200)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, one))
  const { length } = collection.examples
  const scripts = new Set(collection.examples.map(({ file }) => file)).size
  rows.push([
    `${basename(folder)} (${collection.layout})`,
    scripts,
    length,
    count.equal,
    count.wrong,
    count.other,
    count.differs,
  ])
  totals.examples += length
  totals.equal += count.equal
  totals.wrong += count.wrong
  totals.other += count.other
  totals.differs += count.differs
}

async function runInService({ file, script, operation, input }: Example): Promise<Answer> {
  const { fPort, bytes, data, recvTime, variables } = input
  const codec = {
    applicationId: file,
    codec: 'CUSTOM_JS',
    script,
    fPort: typeof fPort === 'number' ? fPort : 0,
    variables: (variables ?? {}) as Readonly<Record<string, string>>,
  } as const
  if (operation === 'encodeDownlink') {
    const encoded = await codecs.encodeDownlink({ ...codec, object: data })
    if (encoded.ok) return { bytes: [...encoded.data], fPort: encoded.fPort }
    return encoded.reason === 'script_errors'
      ? { errors: encoded.message }
      : { thrown: `${encoded.reason}: ${encoded.message}` }
  }
  const recvTimeMs = typeof recvTime === 'string' ? Date.parse(recvTime) : systemClock.now()
  const request = { ...codec, bytes: Buffer.from(Array.isArray(bytes) ? (bytes as number[]) : []), recvTimeMs }
  const decoded = await codecs[operation](request)
  if (decoded.ok) return { value: JSON.parse(decoded.json) as unknown }
  return decoded.reason === 'script_errors'
    ? { errors: decoded.message }
    : { thrown: `${decoded.reason}: ${decoded.message}` }
}

/**
 * As JSON has it: without undefined members and -0. A port that was not published does not count,
 * nor do the parts of a time below its milliseconds: a Date has none.
 */
function comparable(answer: Answer, { expected }: Example): Answer {
  const port = 'fPort' in answer && expected.fPort === undefined ? { ...answer, fPort: undefined } : answer
  return JSON.parse(JSON.stringify(port).replaceAll(TIME, '$1Z')) as Answer
}
