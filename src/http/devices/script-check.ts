/**
 * A script that is no JavaScript is not saved: it would fail with the next uplink, and nobody would
 * notice.
 */
import type { Application } from '../../identity/tenants/applications.ts'
import type { Codecs } from '../../lorawan/codecs/codecs.ts'
import { given } from '../../given.ts'
import { RequestRefused } from '../api/errors.ts'

/** The part of the codecs that checks scripts. */
export type ScriptChecks = Pick<Codecs, 'checkScript'>

type Scripts = Partial<Pick<Application, 'payloadDecoderScript' | 'payloadEncoderScript'>>

/**
 * Throws a refusal, with line and column, if a given script differs from the saved one and is no
 * JavaScript. A script that was saved before may be sent again with other changes.
 */
export async function demandParsed(
  checks: ScriptChecks,
  { organizationId, body = 'application' }: { readonly organizationId: string; readonly body?: string },
  changed: Scripts,
  saved: Scripts = {},
): Promise<void> {
  for (const member of ['payloadDecoderScript', 'payloadEncoderScript'] as const) {
    const script = changed[member]
    if (script === undefined || script.trim() === '' || script === saved[member]) continue
    const fault = await checks.checkScript(organizationId, script)
    if (fault !== undefined) throw refusalOf(`${body}.${member}`, fault)
  }
}

type ScriptFault = NonNullable<Awaited<ReturnType<ScriptChecks['checkScript']>>>

/** Faults of the script itself. All other faults may pass. */
const LASTING: ReadonlySet<string> = new Set(['script_exception', 'memory_exceeded', 'stack_exceeded'])

function refusalOf(member: string, { code, message, line, column }: ScriptFault): RequestRefused {
  if (!LASTING.has(code)) {
    return new RequestRefused('unavailable', `${member}: could not be checked: ${message}`, 'script_not_checked')
  }
  const place = given({ line, column })
  const at = line === undefined ? '' : ` at line ${line}${column === undefined ? '' : `, column ${column}`}`
  return new RequestRefused('invalid_argument', `${member}: is no JavaScript${at}: ${message}`, 'script_not_parsed', {
    place,
  })
}
