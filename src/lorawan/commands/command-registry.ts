/**
 * The ports by which commands learn what they need of a device and its application, and turn
 * objects into bytes.
 */
import type { CommandObject, PayloadCodec } from './command.ts'

/** How an application's commands are encoded. */
export interface CommandCodec {
  readonly codec: PayloadCodec
  /** The tenant's own; used by `CUSTOM_JS` alone. */
  readonly encoderScript: string
}

/** What events say of a device, beside its DevEUI. */
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
  /** What a device's scripts are given; asked only for scripts. */
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
  /** Never rejects for what a tenant wrote. */
  encodeDownlink(
    encoding: DownlinkEncoding,
  ): Promise<{ readonly ok: true; readonly data: Buffer } | { readonly ok: false; readonly message: string }>
}

/** Codecs that are remembered; more applications than send commands with objects within minutes. */
const MAXIMUM_REMEMBERED = 10_000

/** Remembers the codecs of applications, so that a command costs no look into the registry. */
export class CommandCodecs {
  readonly #look: CommandRegistry['codecOf']
  readonly #known = new Map<string, Promise<CommandCodec | undefined>>()

  constructor(look: CommandRegistry['codecOf']) {
    this.#look = look
  }

  codecOf(applicationId: string): Promise<CommandCodec | undefined> {
    const known = this.#known.get(applicationId)
    if (known !== undefined) return known
    if (this.#known.size >= MAXIMUM_REMEMBERED) this.#known.clear()
    const looked = this.#look(applicationId)
    this.#known.set(applicationId, looked)
    // A failure is not remembered, nor what a change came in between of: that has been forgotten
    // already.
    looked.catch(() => {
      if (this.#known.get(applicationId) === looked) this.#known.delete(applicationId)
    })
    return looked
  }

  /** The application has changed or is gone. */
  forget(applicationId: string): void {
    this.#known.delete(applicationId)
  }
}
