/** The work of `fieldgate codec test`: runs a codec with the service's engine and bounds. */
import type { Command } from 'commander'
import { testCodec } from '../../http/devices/codec-trial.ts'
import type { CodecTrial, TriedCodec } from '../../http/devices/codec-trial.ts'
import { RequestRefused } from '../../http/api/errors.ts'
import { createPinoLogger } from '../../pino-logger.ts'
import { Codecs } from '../../lorawan/codecs/codecs.ts'
import { systemClock } from '../../clock.ts'
import { showJson, withClient } from './administration.ts'
import { given } from '../../given.ts'
import type { ApiClient } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { readTextFile } from '../terminal/file-failure.ts'
import { applicationIdOf } from './references.ts'
import { linesText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The parsed options of `fieldgate codec test`. */
export interface TrialOptions {
  readonly decoderFile?: string
  readonly encoderFile?: string
  readonly application?: string
  readonly device?: string
  readonly codec?: 'CAYENNE_LPP' | 'CUSTOM_JS'
  readonly hex?: string
  readonly data?: string
  readonly object?: unknown
  readonly fPort: number
  readonly variable?: Readonly<Record<string, string>>
  readonly json?: true
}

/** The saved codec of an application, and the variables of a device. */
interface Saved {
  readonly codec: TriedCodec
  readonly variables: Readonly<Record<string, string>>
}

const NOTHING_SAVED: Saved = {
  codec: { id: '', payloadCodec: '', payloadDecoderScript: '', payloadEncoderScript: '' },
  variables: {},
}

/**
 * Runs the codec of the options, and shows the result. Throws CommandFailure when the codec fails.
 */
export async function tryCodecOf(terminal: Terminal, command: Command, options: TrialOptions): Promise<void> {
  const { hex, data, object, decoderFile, encoderFile, application, device } = options
  if (hex !== undefined && data !== undefined) throw new CommandFailure('Give --hex or --data, not both.', 2)
  if (hex === undefined && data === undefined && object === undefined) {
    throw new CommandFailure('Give the data: --hex or --data to decode, --object to encode.', 2)
  }
  const scripts = given({
    payloadDecoderScript: decoderFile === undefined ? undefined : await readTextFile(decoderFile),
    payloadEncoderScript: encoderFile === undefined ? undefined : await readTextFile(encoderFile),
  })
  const hasFile = Object.keys(scripts).length > 0
  const isSaved = application !== undefined || device !== undefined
  if (!hasFile && !isSaved && options.codec !== 'CAYENNE_LPP') {
    const message = 'Name the codec: --decoder-file, --encoder-file, --application, --device or --codec CAYENNE_LPP.'
    throw new CommandFailure(message, 2)
  }
  const saved = isSaved ? await withClient(terminal, command, (client) => savedOf(client, options)) : NOTHING_SAVED
  const codec = options.codec ?? (hasFile ? 'CUSTOM_JS' : undefined)
  const variables = { ...saved.variables, ...options.variable }
  const trial = given({ ...scripts, payloadCodec: codec, hex, data, object, fPort: options.fPort, variables })
  const answer = await run(saved.codec, trial)
  if (options.json === true) showJson(terminal, answer)
  show(terminal, answer, options)
}

async function savedOf(client: ApiClient, { application, device }: TrialOptions): Promise<Saved> {
  let { variables } = NOTHING_SAVED
  let applicationId = application === undefined ? undefined : await applicationIdOf(client, application)
  if (device !== undefined) {
    const { device: found } = await client.request('GET', `/api/devices/${encodeURIComponent(device)}`)
    const fields = found as { readonly applicationID: string; readonly variables: Readonly<Record<string, string>> }
    variables = fields.variables
    applicationId ??= fields.applicationID
  }
  const found = await client.request('GET', `/api/applications/${applicationId}`)
  return { codec: found['application'] as TriedCodec, variables }
}

async function run(codec: TriedCodec, trial: JsonObject): Promise<CodecTrial> {
  const log = createPinoLogger({ level: 'error', format: 'text' })
  const codecs = new Codecs({ organizationOf: async () => 'trial', clock: systemClock, log, workers: 1 })
  try {
    return await testCodec(codec, trial, codecs, Date.now())
  } catch (error) {
    if (error instanceof RequestRefused) throw new CommandFailure(`${error.message}.`, 2)
    throw error
  } finally {
    await codecs.close()
  }
}

function show(terminal: Terminal, { decoded, encoded }: CodecTrial, options: TrialOptions): void {
  const faults: string[] = []
  for (const [outcome, file, name] of [
    [decoded, options.decoderFile, 'The decoder'],
    [encoded, options.encoderFile, 'The encoder'],
  ] as const) {
    if (outcome === undefined) continue
    const { console, warnings, error } = outcome
    if (options.json !== true) {
      for (const line of console) terminal.error(`console: ${linesText(line)}\n`)
      for (const warning of warnings) terminal.error(`warning: ${linesText(warning)}\n`)
    }
    if (error === null) continue
    const place = error.line === null ? '' : `, line ${error.line}`
    faults.push(`${file ?? name}${place}: ${linesText(error.message)}`)
  }
  if (options.json !== true) {
    if (decoded?.error === null) terminal.out(`${linesText(JSON.stringify(decoded.object, undefined, 2))}\n`)
    if (encoded?.error === null) {
      const port = encoded.fPort ?? options.fPort
      terminal.out(`fPort   ${port}\nhex     ${encoded.hex}\nbase64  ${encoded.data}\n`)
    }
  }
  if (faults.length > 0) throw new CommandFailure(faults.join('\n'))
}
