/** One turn of Schemathesis on a fresh service. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPython } from '../generators.ts'
import { ran } from '../parts.ts'
import { openWorld } from '../world.ts'
import { widened } from './widened.ts'

/** The user and the duration of a turn. */
export interface Turn {
  /**
   * A global admin, a plain member, or a global admin who only calls the routes that end the
   * caller's own access.
   */
  readonly person: 'admin' | 'member' | 'leaver'
  readonly seconds: number
  readonly seed: number
}

/** The result of a turn; `report` is the output of Schemathesis. */
export interface TurnResult {
  readonly cases: number
  /** Requests that were valid and successful. */
  readonly accepted: number
  readonly failures: number
  readonly report: string
}

/** The version that docs/api.md names. */
const SCHEMATHESIS = '4.32.5'

/** With these operations a fuzzer would lock itself out, and get only 401 from then on. */
const ENDS_OWN_ACCESS = ['signOutEverywhere', 'setPassword', 'deleteUser', 'updateUser', 'changeOwnPassword']

/**
 * The checks of Schemathesis that make sense here; refusals.py has the check of well-formed
 * requests.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'unsupported_method',
  'allow_header_conformance',
  'ensure_resource_availability',
  'ignored_auth',
  'valid_data_is_accepted',
]

/** Runs a turn. Bounded by its seconds, with some more for the start and for requests under way. */
export async function ranFuzzer({ person, seconds, seed }: Turn): Promise<TurnResult> {
  const python = await installPython(`schemathesis-${SCHEMATHESIS}`, `schemathesis==${SCHEMATHESIS}`)
  await using world = await openWorld('as child')
  const { service, folder } = world
  await writeFile(
    join(folder, 'document.json'),
    JSON.stringify(widened(JSON.parse(await readFile(world.documentFile, 'utf8')))),
  )
  await writeFile(join(folder, 'schemathesis.toml'), '')
  const filter = person === 'leaver' ? 'include' : 'exclude'
  const session = person === 'member' ? world.member.session : world.admin.session
  const reportFile = join(folder, 'report.json')
  const options = [
    `--config-file=${join(folder, 'schemathesis.toml')}`,
    '--no-color',
    'run',
    `--url=${service.https}`,
    `--tls-verify=${service.caFile}`,
    `--header=Authorization: Bearer ${session}`,
    `--max-time=${seconds}`,
    `--seed=${seed}`,
    `--checks=${CHECKS.join(',')}`,
    '--workers=1',
    '--continue-on-failure',
    '--no-shrink',
    '--warnings=off',
    '--request-timeout=30',
    '--report=json',
    `--report-json-path=${reportFile}`,
    ...ENDS_OWN_ACCESS.map((id) => `--${filter}-operation-id=${id}`),
    join(folder, 'document.json'),
  ]
  // A fuzzer must not slow down others who work on the same machine.
  const said = await ran('nice', [python, '-m', 'schemathesis.cli', ...options], {
    folder,
    environment: {
      SCHEMATHESIS_HOOKS: 'refusals',
      PYTHONPATH: fileURLToPath(new URL('.', import.meta.url)),
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUTF8: '1',
    },
    timeoutMs: (seconds + 120) * 1000,
    acceptedCodes: [0, 1],
  })
  const counts = JSON.parse(await readFile(reportFile, 'utf8')) as Report
  const errors = counts.errors.reduce((sum, { count }) => sum + count, 0)
  const accepted = acceptedOf(counts)
  // If so many cases were all refused, the turn has only tested the access control.
  const isVain = accepted === 0 && counts.test_cases.generated >= 200 && person !== 'leaver'
  const failures = counts.test_cases.unique_failures + errors + (counts.complete ? 0 : 1) + (isVain ? 1 : 0)
  return { cases: counts.test_cases.generated, accepted, failures, report: said }
}

/** The members that are read from the report of Schemathesis. */
interface Report {
  readonly complete: boolean
  readonly test_cases: { readonly generated: number; readonly unique_failures: number }
  readonly errors: readonly { readonly count: number }[]
  readonly valid_rates: Readonly<Record<string, Readonly<Record<string, { readonly accepted: number }>>>>
}

function acceptedOf({ valid_rates: rates }: Report): number {
  const counts = Object.values(rates).flatMap((phases) => Object.values(phases).map(({ accepted }) => accepted))
  return counts.reduce((sum, count) => sum + count, 0)
}
