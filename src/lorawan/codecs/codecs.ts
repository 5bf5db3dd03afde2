/**
 * Payload codecs: they turn bytes of devices into objects and back, by Cayenne LPP or by an
 * application's own scripts.
 */
import { given } from '../../given.ts'
import type { Logger } from '../../logger.ts'
import type { OrganizationUsage } from '../../organization-bounds.ts'
import { decodeCayenneLpp, encodeCayenneLpp } from './cayenne-lpp.ts'
import type { CayenneFaultCode } from './cayenne-lpp.ts'
import type { GuestInput } from './guest.ts'
import type { ScriptOperation } from './sandbox.ts'
import { CODEC_PROCESSES, MAXIMUM_INPUT_LENGTH, MAXIMUM_SCRIPT_LENGTH } from './script-limits.ts'
import { scriptFault } from './script-outcome.ts'
import type { ScriptFault, ScriptFaultCode, ScriptOutcome } from './script-outcome.ts'
import { ScriptPool } from './script-pool.ts'
import type { PoolClock, ScriptRun } from './script-pool.ts'

/** The codec of an application; empty for no codec. */
type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** The application whose codec is asked for, and the circumstances. */
interface CodecRequest {
  readonly applicationId: string
  readonly codec: PayloadCodec
  /** The device profile whose codec it is; its organization pays with its time. */
  readonly profile?: { readonly id: string; readonly organizationId: string } | undefined
  /** The decoder or encoder script. Only CUSTOM_JS uses it. */
  readonly script: string
  readonly fPort: number
  /** Variables of the device, for scripts. */
  readonly variables: Readonly<Record<string, string>>
  /**
   * True for a trial run. Trials wait in an order of their own, and a draft that is too slow does
   * not hold back the script in use.
   */
  readonly isTrial?: boolean
  /** True for an event on its way: its run may wait some ms for others, which costs less. */
  readonly mayGather?: boolean
}

/** Bytes to be decoded. */
export interface DecodeRequest extends CodecRequest {
  readonly bytes: Buffer
  /** When the bytes were received, in ms since 1970. */
  readonly recvTimeMs: number
}

/** An object to be encoded. */
export interface EncodeRequest extends CodecRequest {
  readonly object: unknown
}

/** Stable codes of the faults of codecs; docs/errors.md has a paragraph for each. */
export type CodecFaultCode = ScriptFaultCode | CayenneFaultCode | 'codec_missing' | 'data_too_long'

/** Members of both outcomes of a run. */
interface CodecRun {
  /** Lines that the script wrote to its console. */
  readonly console: readonly string[]
  /** How long the run took, with the loading of the script and without the time in the queue. */
  readonly durationMs: number
}

export interface CodecFault extends CodecRun {
  readonly ok: false
  /** The type of the error event. */
  readonly code: 'UPLINK_CODEC' | 'DOWNLINK_CODEC'
  readonly reason: CodecFaultCode
  readonly message: string
  /** Line of the script, from 1. */
  readonly line: number | undefined
}

export interface Decoded extends CodecRun {
  readonly ok: true
  /** The object as JSON, so that it need not be parsed and written again. */
  readonly json: string
  /**
   * The measurements in the units of the normalized payload of The Things Stack, as JSON: an object
   * or an array. Only scripts with `normalizeUplink` give them.
   */
  readonly normalizedJson?: string
  readonly warnings: readonly string[]
}

export interface Encoded extends CodecRun {
  readonly ok: true
  /** At most 242 bytes. */
  readonly data: Buffer
  /** 1 to 255, if the script chose one. */
  readonly fPort?: number
  readonly warnings: readonly string[]
}

export interface CodecsOptions {
  /**
   * The organization of an application, or undefined for an unknown application. Time is shared
   * fairly between organizations. Asked before each run: an application's id can be made anew in
   * another organization, whose share its scripts then use.
   */
  readonly organizationOf: (applicationId: string) => string | undefined | Promise<string | undefined>
  readonly clock: PoolClock
  readonly log: Logger
  /**
   * The bound of an organization on the processor time of its scripts: ms in a second, on average
   * over ten seconds. Without it there is no bound.
   */
  readonly msPerSecondOf?: (organizationId: string) => number
  /** Processes for scripts; by default two. */
  readonly workers?: number
}

/**
 * The longest application data of a LoRaWAN frame at the best data rate, in bytes (RP002 §2, N).
 */
const MAXIMUM_DATA_BYTES = 242

const NO_CODEC = 'the application has no codec'

/** The codecs of all applications. Processes start with the first script and end with `close`. */
export class Codecs {
  readonly #pool: ScriptPool
  readonly #organizationOf: CodecsOptions['organizationOf']

  constructor({ organizationOf, clock, log, msPerSecondOf, workers = CODEC_PROCESSES }: CodecsOptions) {
    this.#organizationOf = organizationOf
    this.#pool = new ScriptPool({ workers, clock, log, ...given({ msPerSecondOf }) })
  }

  /** Numbers for telemetry; `waiting` and `workers` are current. */
  get counters(): Readonly<Record<string, number>> {
    return this.#pool.counters
  }

  /**
   * False while the scripts of the organization have used their time: they would be refused with
   * `codec_time_used`.
   */
  hasTime(organizationId: string): boolean {
    return this.#pool.time.hasTime(organizationId)
  }

  /** The processor time that the scripts of the organization take, on average over ten seconds. */
  usageOf(organizationId: string): OrganizationUsage {
    return { codecMsPerSecond: Math.round(this.#pool.time.msPerSecond(organizationId)) }
  }

  /** The organizations whose scripts have run lately, 10,000 at most. */
  organizations(): Iterable<string> {
    return this.#pool.time.organizations()
  }

  /** Decodes an uplink's bytes. Rejects only when the organization can't be looked up. */
  decodeUplink(request: DecodeRequest): Promise<Decoded | CodecFault> {
    return this.#decode('decodeUplink', request)
  }

  /** Decodes a downlink's bytes, if the encoder script has a function for this. */
  decodeDownlink(request: DecodeRequest): Promise<Decoded | CodecFault> {
    return this.#decode('decodeDownlink', request)
  }

  /** Encodes an object. Rejects only when the organization can't be looked up. */
  async encodeDownlink(request: EncodeRequest): Promise<Encoded | CodecFault> {
    if (request.codec === '') return quickFault('DOWNLINK_CODEC', 'codec_missing', NO_CODEC)
    if (request.codec === 'CUSTOM_JS') {
      const input = {
        fPort: request.fPort,
        bytes: [],
        recvTimeMs: 0,
        variables: request.variables,
        object: request.object,
      }
      const run = await this.#run('encodeDownlink', request, input)
      return run.outcome.ok ? encodedBy(run.outcome, run.durationMs) : faultOf('DOWNLINK_CODEC', run)
    }
    const encoded = encodeCayenneLpp(request.object)
    if (!encoded.ok) return quickFault('DOWNLINK_CODEC', encoded.code, encoded.message)
    const { data } = encoded
    if (data.length > MAXIMUM_DATA_BYTES) return quickFault('DOWNLINK_CODEC', 'data_too_long', tooLong(data.length))
    return { ok: true, data, warnings: [], console: [], durationMs: 0 }
  }

  /**
   * Checks whether a script is JavaScript, before anything depends on it: the script is compiled
   * and not run. Undefined when it is; otherwise the fault, which may also be that there was no
   * time to look. Never rejects.
   */
  async checkScript(organizationId: string, script: string): Promise<ScriptFault | undefined> {
    const call = { operation: 'parse', input: script } as const
    // Each organization has an engine for checks, with no script loaded.
    const run = await this.#pool.run({ organizationId, key: `${organizationId} check`, script: '', call })
    return run.outcome.ok ? undefined : run.outcome
  }

  /** Ends the processes. Waiting runs fail. */
  close(): Promise<void> {
    return this.#pool.close()
  }

  async #decode(operation: 'decodeUplink' | 'decodeDownlink', request: DecodeRequest): Promise<Decoded | CodecFault> {
    const code = operation === 'decodeUplink' ? 'UPLINK_CODEC' : 'DOWNLINK_CODEC'
    if (request.codec === '') return quickFault(code, 'codec_missing', NO_CODEC)
    if (request.codec === 'CUSTOM_JS') {
      const { fPort, bytes, recvTimeMs, variables } = request
      const run = await this.#run(operation, request, { fPort, bytes: [...bytes], recvTimeMs, variables, object: null })
      return run.outcome.ok ? { ...run.outcome, durationMs: run.durationMs } : faultOf(code, run)
    }
    const decoded = decodeCayenneLpp(request.bytes)
    if (!decoded.ok) return quickFault(code, decoded.code, decoded.message)
    return { ok: true, json: JSON.stringify(decoded.object), warnings: [], console: [], durationMs: 0 }
  }

  async #run(operation: ScriptOperation, request: CodecRequest, guestInput: GuestInput): Promise<ScriptRun> {
    const { applicationId, profile, script, isTrial = false, mayGather = false } = request
    if (script.trim() === '') return unrun('script_missing', 'the application has no script for this')
    if (script.length > MAXIMUM_SCRIPT_LENGTH) {
      const text = `the script has ${script.length} characters, more than ${MAXIMUM_SCRIPT_LENGTH}`
      return unrun('script_too_long', text)
    }
    const input = JSON.stringify(guestInput)
    if (input.length > MAXIMUM_INPUT_LENGTH) {
      const text = `the input of the script has ${input.length} characters, more than ${MAXIMUM_INPUT_LENGTH}`
      return unrun('input_too_large', text)
    }
    // An application that is gone shares its time with no organization.
    const organizationId =
      profile?.organizationId ?? (await this.#organizationOf(applicationId)) ?? `of application ${applicationId}`
    const kind = operation === 'decodeUplink' ? 'decoder' : 'encoder'
    const key = `${profile?.id ?? applicationId} ${kind}${isTrial ? ' trial' : ''}`
    return this.#pool.run({ organizationId, key, script, call: { operation, input }, mayGather })
  }
}

/** Reads the bytes in a script's answer, without trusting the answer. */
function encodedBy(
  { json, warnings, console }: Extract<ScriptOutcome, { ok: true }>,
  durationMs: number,
): Encoded | CodecFault {
  const run = { console, durationMs }
  const fault = (reason: CodecFaultCode, message: string): CodecFault => {
    return { ok: false, code: 'DOWNLINK_CODEC', reason, message, line: undefined, ...run }
  }
  const answer: unknown = JSON.parse(json)
  const { bytes, fPort } = (answer ?? {}) as Readonly<Record<string, unknown>>
  if (!isBytes(bytes)) return fault('result_invalid', 'the script must give an array of bytes')
  if (bytes.length > MAXIMUM_DATA_BYTES) return fault('data_too_long', tooLong(bytes.length))
  const encoded: Encoded = { ok: true, data: Buffer.from(bytes), warnings, ...run }
  if (fPort === undefined || fPort === null) return encoded
  if (typeof fPort !== 'number' || !Number.isInteger(fPort) || fPort < 1 || fPort > 255) {
    return fault('result_invalid', 'fPort: must be an integer from 1 to 255')
  }
  return { ...encoded, fPort }
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
}

function tooLong(length: number): string {
  return `${length} bytes are more than ${MAXIMUM_DATA_BYTES}, the most that LoRaWAN carries`
}

function unrun(code: ScriptFaultCode, message: string): ScriptRun {
  return { outcome: scriptFault(code, message), durationMs: 0 }
}

function quickFault(code: CodecFault['code'], reason: CodecFaultCode, message: string): CodecFault {
  return { ok: false, code, reason, message, line: undefined, console: [], durationMs: 0 }
}

function faultOf(code: CodecFault['code'], { outcome, durationMs }: ScriptRun): CodecFault {
  if (outcome.ok) return quickFault(code, 'engine_failed', 'the script gave no fault')
  const { code: reason, message, line, console } = outcome
  return { ok: false, code, reason, message, line, console, durationMs }
}
