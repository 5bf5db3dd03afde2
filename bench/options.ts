/** The arguments of `npm run bench`. */
import { parseArgs } from 'node:util'
import { BROKERS } from './brokers.ts'
import type { Choice } from './brokers.ts'
import type { JobQoS } from './load/job.ts'
import { SCENARIOS } from './scenarios/rows.ts'
import type { ScenarioName, Timing } from './scenarios/scenario.ts'

export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[]
  readonly brokers: Choice
  readonly qos: readonly JobQoS[]
  readonly runs: number
  readonly timing: Timing
  /** The document whose figures are replaced. */
  readonly write: string | undefined
}

/** The name of the brokers that take part when the command line names none. */
const DEFAULTS = 'default'

export const USAGE = `npm run bench -- [options]

  --scenarios s1,s2,...  of ${SCENARIOS.join(', ')}; default: all
  --brokers a,b,...      of ${BROKERS.map(({ name }) => name).join(', ')},
                         and of ${DEFAULTS}, which stands for those that are compared without this option
  --qos 0,1              default: 0,1
  --runs N               rounds, in each of which every broker has its turn; default: 3
  --seconds N            of the measured window; default: 4
  --warm-up N            seconds of load before the window; default: 3
  --write FILE           put the figures into that document, between its markers
  --help
`

const MAXIMUM_RUNS = 100
const MAXIMUM_SECONDS = 600
/** A runtime that compiles has compiled most of the hot paths after this time, s. */
const WARM_UP = '3'
const MAXIMUM_WARM_UP_SECONDS = 60
/** The latency takes as long as the window, up to this time. */
const MAXIMUM_LATENCY_MS = 5_000

/** The options, or their fault; undefined: help is asked for. */
export function parseOptions(args: readonly string[]): BenchOptions | { readonly fault: string } | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        scenarios: { type: 'string', default: SCENARIOS.join(',') },
        brokers: { type: 'string', default: DEFAULTS },
        qos: { type: 'string', default: '0,1' },
        runs: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '4' },
        'warm-up': { type: 'string', default: WARM_UP },
        write: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) return undefined
    const measureMs = 1000 * numberOf('--seconds', values.seconds, 0.1, MAXIMUM_SECONDS)
    const warmUpMs = 1000 * numberOf('--warm-up', values['warm-up'], 0.1, MAXIMUM_WARM_UP_SECONDS)
    const runs = numberOf('--runs', values.runs, 1, MAXIMUM_RUNS)
    if (!Number.isInteger(runs)) throw new Error('--runs must be a whole number')
    return {
      scenarios: chosen('--scenarios', values.scenarios, SCENARIOS),
      brokers: chosenBrokers(values.brokers),
      qos: chosen('--qos', values.qos, ['0', '1']).map((text) => (text === '0' ? 0 : 1)),
      runs,
      timing: { warmUpMs, measureMs, latencyMs: Math.min(measureMs, MAXIMUM_LATENCY_MS) },
      write: values.write,
    }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

function chosenBrokers(text: string): Choice {
  const names = chosen('--brokers', text, [DEFAULTS, ...BROKERS.map(({ name }) => name)])
  return { named: names.filter((name) => name !== DEFAULTS), withDefaults: names.includes(DEFAULTS) }
}

/** The chosen names, in the order of the known names, each once. */
function chosen<Name extends string>(option: string, text: string, known: readonly Name[]): Name[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase())
  const unknown = names.find((name) => !known.some((one) => one === name))
  if (unknown !== undefined) throw new Error(`${option}: "${unknown}" is none of ${known.join(', ')}`)
  return known.filter((name) => names.includes(name))
}

function numberOf(option: string, text: string, minimum: number, maximum: number): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= minimum && value <= maximum)) {
    throw new Error(`${option} must be a number from ${minimum} to ${maximum}`)
  }
  return value
}
