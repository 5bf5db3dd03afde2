/**
 * `npm run neighbours -- [--seconds N] [--together] [profile ...]`: bad neighbours beside a good
 * one.
 */
import { parseArgs } from 'node:util'
import { PROFILES } from './profiles.ts'
import { runNeighbours } from './run-neighbours.ts'

const USAGE = `npm run neighbours -- [--seconds N] [--together] [profile ...]

  --seconds N   of the quiet time; an attack takes twice as long; default: 60
  --together    all profiles attack at once, each by an organization of its own
  --help

Profiles; all of them when none is named:
${PROFILES.map(({ name, title }) => `  ${name.padEnd(16)}${title}`).join('\n')}
`

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const { values, positionals } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    together: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const unknown = positionals.filter((word) => !PROFILES.some(({ name }) => name === word))
const seconds = Number(values.seconds)
if (values.help) console.log(USAGE)
else if (unknown.length > 0 || !(seconds > 0)) {
  console.error(
    unknown.length > 0 ? `There is no profile ${unknown.join(', ')}.` : '--seconds must be a number above 0.',
  )
  console.error(USAGE)
  process.exitCode = 2
} else {
  const profiles = PROFILES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const verdicts = await runNeighbours({
    runs: values.together ? [profiles] : profiles.map((profile) => [profile]),
    ms: seconds * 1000,
    judgesLatency: true,
    say: (line) => console.log(line),
  })
  const failed = verdicts.filter(({ faults }) => faults.length > 0).length
  console.log(`${verdicts.length - failed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
