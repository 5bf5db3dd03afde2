/**
 * A script that is no JavaScript is not saved: it would fail with the next uplink, and nobody would
 * look.
 */
import type { Application } from '../../identity/tenants/applications.ts'
import type { Codecs } from '../../lorawan/codecs/codecs.ts'
import { given } from '../../given.ts'
import { RequestRefused } from '../api/errors.ts'

/** The codecs, as far as scripts are checked. */
export type ScriptChecks = Pick<Codecs, 'checkScript'>

type Scripts = Partial<Pick<Application, 'payloadDecoderScript' | 'payloadEncoderScript'>>

/**
 * Throws a refusal, with line and column, where a script that is given and differs from the saved
 * one is no JavaScript. One that was saved before stays, and may be sent again with other changes.
 */
export async function demandParsed(
  checks: ScriptChecks,
  organizationId: string,
  changed: Scripts,
  saved: Scripts = {},
): Promise<void> {
  for (const member of ['payloadDecoderScript', 'payloadEncoderScript'] as const) {
    const script = changed[member]
    if (script === undefined || script.trim() === '' || script === saved[member]) continue
    const fault = await checks.checkScript(organizationId, script)
    if (fault !== undefined) throw refusalOf(`application.${member}`, fault)
  }
}

type ScriptFault = NonNullable<Awaited<ReturnType<ScriptChecks['checkScript']>>>

/** Faults that are the script's own; others are of the moment. */
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
