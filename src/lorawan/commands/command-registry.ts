/** The ports by which commands learn of devices and applications, and turn objects into bytes. */
import { Remembered } from '../../remembered.ts'
import type { CommandObject, PayloadCodec } from './command.ts'

/** How an application's commands are encoded. */
export interface CommandCodec {
  readonly codec: PayloadCodec
  /** The tenant's own script; only `CUSTOM_JS` uses it. */
  readonly encoderScript: string
}

/** The names of a device that events have beside its DevEUI. */
export interface DeviceNames {
  readonly applicationId: string
  readonly applicationName: string
  readonly deviceName: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

/** The deployment's registry, as far as commands need it. */
export interface CommandRegistry {
  /** Undefined for an application that does not exist. Asked only for commands with an object. */
  codecOf(applicationId: string): Promise<CommandCodec | undefined>
  /** The variables that a device's scripts are given. Asked only for scripts. */
  variablesOf(devEui: string): Promise<Readonly<Record<string, string>>>
  /** Undefined for a device that does not exist. */
  namesOf(devEui: string): Promise<DeviceNames | undefined>
}

/** An object on its way to bytes. */
export interface DownlinkEncoding {
  readonly applicationId: string
  readonly codec: Exclude<PayloadCodec, ''>
  readonly script: string
  readonly fPort: number
  readonly object: CommandObject
  readonly variables: Readonly<Record<string, string>>
}

/** The codecs of all applications. */
export interface DownlinkEncoder {
  /** Never rejects because of a tenant's script or object. */
  encodeDownlink(
    encoding: DownlinkEncoding,
  ): Promise<{ readonly ok: true; readonly data: Buffer } | { readonly ok: false; readonly message: string }>
}

/**
 * Codecs that are remembered: more than applications that send commands with objects within
 * minutes.
 */
const MAXIMUM_REMEMBERED = 10_000
/**
 * The sum of the lengths of encoder scripts, in UTF-16 code units. A tenant may have any number of
 * applications, each with a script of 65,536 characters.
 */
const MAXIMUM_SCRIPTS_SIZE = 33_554_432

/** Remembers the codecs of applications, so that a command costs no look into the registry. */
export function rememberCodecs(look: CommandRegistry['codecOf']): Remembered<CommandCodec | undefined> {
  return new Remembered({
    look,
    maximum: MAXIMUM_REMEMBERED,
    size: { maximum: MAXIMUM_SCRIPTS_SIZE, sizeOf: ({ encoderScript }) => encoderScript.length },
  })
}
