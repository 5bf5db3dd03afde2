/** The ports by which commands learn of devices and applications, and turn objects into bytes. */
import { Remembered } from '../../remembered.ts'
import type { EventShape } from '../shapes/event-facts.ts'
import type { CommandObject, PayloadCodec } from './command.ts'

/** How the commands of an application, or of the devices of a profile, are encoded. */
export interface CommandCodec {
  readonly codec: PayloadCodec
  /** The tenant's own script; only `CUSTOM_JS` uses it. */
  readonly encoderScript: string
  /** The device profile whose codec it is. */
  readonly profile?: { readonly id: string; readonly organizationId: string }
  /** True: without a codec the object goes on to the network server, which is to encode it. */
  readonly passesObjects?: boolean
}

/** The names of a device that events have beside its DevEUI. */
export interface DeviceNames {
  readonly applicationId: string
  readonly applicationName: string
  readonly deviceName: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
  /** The shape of the application's events; absent for events as received. */
  readonly eventShape?: EventShape
}

/** The deployment's registry, as far as commands need it. */
export interface CommandRegistry {
  /** Undefined for an application that does not exist. Asked only for commands with an object. */
  codecOf(applicationId: string): Promise<CommandCodec | undefined>
  /**
   * The id of the profile of the device; undefined for a device without a profile. Asked only for
   * commands with an object, as `profileCodecOf`.
   */
  profileIdOf(devEui: string): string | undefined | Promise<string | undefined>
  /** Undefined for a profile that does not exist. */
  profileCodecOf(profileId: string): Promise<CommandCodec | undefined>
  /** The variables that a device's scripts are given. Asked only for scripts. */
  variablesOf(devEui: string): Promise<Readonly<Record<string, string>>>
  /** Undefined for a device that does not exist. */
  namesOf(devEui: string): Promise<DeviceNames | undefined>
}

/** An object on its way to bytes. */
export interface DownlinkEncoding {
  readonly applicationId: string
  readonly profile?: CommandCodec['profile']
  readonly codec: Exclude<PayloadCodec, ''>
  readonly script: string
  /** 0: the command leaves the port to the script. */
  readonly fPort: number
  readonly object: CommandObject
  readonly variables: Readonly<Record<string, string>>
}

/** The bytes of an object. */
interface EncodedDownlink {
  readonly ok: true
  readonly data: Buffer
  /** From 1 to 255, where the script names a port. */
  readonly fPort?: number
  /** Sentences for the sender. */
  readonly warnings?: readonly string[]
}

/** The codecs of all applications. */
export interface DownlinkEncoder {
  /** Never rejects because of a tenant's script or object. */
  encodeDownlink(
    encoding: DownlinkEncoding,
  ): Promise<EncodedDownlink | { readonly ok: false; readonly message: string }>
}

/**
 * Codecs that are remembered: more than applications that send commands with objects within
 * minutes.
 */
const MAXIMUM_REMEMBERED = 10_000
/**
 * The sum of the lengths of encoder scripts, in UTF-16 code units. A tenant may have any number of
 * applications, each with a script of 524,288 characters.
 */
const MAXIMUM_SCRIPTS_SIZE = 33_554_432

/**
 * Remembers the codecs of applications or profiles by their ids, so that a command costs no look
 * into the registry.
 */
export function rememberCodecs(look: CommandRegistry['codecOf']): Remembered<CommandCodec | undefined> {
  return new Remembered({
    look,
    maximum: MAXIMUM_REMEMBERED,
    size: { maximum: MAXIMUM_SCRIPTS_SIZE, sizeOf: ({ encoderScript }) => encoderScript.length },
  })
}
