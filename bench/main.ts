/**
 * `npm run bench`: compares brokers by the CPU time that a message costs them. docs/performance.md
 * explains the method.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BROKERS, participants } from './brokers.ts'
import type { BrokerKind } from './brokers/broker.ts'
import { makeCertificate } from './certificate.ts'
import { chooseRows, compare } from './compare.ts'
import type { Run } from './compare.ts'
import { parseOptions, USAGE } from './options.ts'
import type { BenchOptions } from './options.ts'
import { openFilesLimit } from './process-accounting.ts'
import { report, runLine, withFigures } from './report.ts'
import { ROWS } from './scenarios/rows.ts'
import type { Row } from './scenarios/scenario.ts'

const options = parseOptions(process.argv.slice(2))
if (options === undefined) console.log(USAGE)
else if ('fault' in options) {
  console.error(`${options.fault}\n\n${USAGE}`)
  process.exitCode = 2
} else process.exitCode = await run(options)

/**
 * Returns the exit status: 1 if Fieldgate lost, doubled or misordered a message, or a broker could
 * not be started.
 */
async function run({ scenarios, qos, runs: rounds, timing, brokers: choice, write }: BenchOptions): Promise<number> {
  const rows = chooseRows(ROWS, { scenarios, qos })
  const wanted = BROKERS.filter((broker) => rows.some((row) => participants(row, choice).includes(broker)))
  const brokers = wanted.filter(isThere)
  const missing = [...brokers.map((broker) => broker.missing()), tooFewFiles(rows)].filter(
    (reason) => reason !== undefined,
  )
  if (missing.length > 0) {
    for (const reason of missing) console.error(reason)
    return 1
  }
  // Read first: if the document has no markers, this should show before ten minutes of work.
  const document = write === undefined ? undefined : withFigures(readFileSync(write, 'utf8'), '')
  const units = new Map(rows.map(({ title, unit }) => [title, unit]))
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, () => process.exit(status))
  }
  const workspace = { directory, certificate: await makeCertificate(directory) }
  const runs = await compare(
    rows,
    (row) => participants(row, choice).filter((broker) => brokers.includes(broker)),
    workspace,
    { runs: rounds, timing },
    (done) => console.log(runLine(done, units.get(done.row) ?? '')),
  )
  const text = report(runs, { rows, brokers, timing, date: new Date() })
  console.log(`\n${text}`)
  const faults = faultsOf(runs)
  if (faults > 0) console.error(`Fieldgate: ${faults} runs with a fault.`)
  if (write !== undefined && document !== undefined) writeFileSync(write, withFigures(document, text))
  return faults > 0 ? 1 : 0
}

/** False for an optional broker that is missing, and a line says why. */
function isThere({ isOptional = false, missing }: BrokerKind): boolean {
  const reason = isOptional ? missing() : undefined
  if (reason !== undefined) console.error(reason)
  return reason === undefined
}

/** A sentence if the limit of open files is too low for a row. */
function tooFewFiles(rows: readonly Row[]): string | undefined {
  const limit = openFilesLimit()
  const row = rows.find(({ openFiles }) => openFiles > limit)
  if (row === undefined) return undefined
  return `${row.title} needs ${row.openFiles} open files, the limit is ${limit}; raise it (ulimit -Hn) or leave ${row.scenario} out`
}

/** The number of Fieldgate's faults. A peer may fail, and the report says so. */
function faultsOf(runs: readonly Run[]): number {
  return runs.filter(({ broker, outcome }) => broker.startsWith('fieldgate') && !outcome.ok).length
}
