/** Commands: what a program sends to a device, and the steps in which it learns the fate. */
import { FieldgateError } from './errors.ts'

/** A command to one device. */
export interface CommandInput {
  /** 1 to 255. */
  readonly fPort: number
  /** Bytes, or their base64: at most 242 bytes, in plaintext. */
  readonly data?: Uint8Array | string
  /** An object for the codec. It wins over `data` where there is a codec. */
  readonly object?: object
  /** True: the device must acknowledge the command. Default: false. */
  readonly confirmed?: boolean
  /** 1 to 64 visible ASCII characters. Two commands of one id are one. Default: a UUID. */
  readonly id?: string
  /** RFC 3339. After this time the command is not handed over any more. */
  readonly expiresAt?: string
  /** -1000 to 1000; higher goes first. */
  readonly priority?: number
  /** True: cancels the commands that wait for the device. */
  readonly replace?: boolean
}

/** The answer of the service that it has stored a command. */
export interface Accepted {
  readonly id: string
  /** True: the service had the command already. */
  readonly repeated: boolean
}

/**
 * A command on its way. Each step is a promise of its own; wait for those that matter. A step that
 * can't be reached any more rejects with a `FieldgateError`, which has the code of the reason. A
 * rejection that nobody waits for is no fault of the process.
 */
export class SentCommand {
  readonly id: string
  readonly devEui: string
  readonly isConfirmed: boolean
  readonly #accepted = Promise.withResolvers<Accepted>()
  readonly #sent = Promise.withResolvers<void>()
  readonly #acknowledged = Promise.withResolvers<void>()
  #isAccepted = false
  #isOver = false

  constructor(id: string, devEui: string, isConfirmed: boolean) {
    this.id = id
    this.devEui = devEui
    this.isConfirmed = isConfirmed
    for (const { promise } of [this.#accepted, this.#sent, this.#acknowledged]) promise.catch(() => {})
  }

  /** The service has stored the command. */
  get accepted(): Promise<Accepted> {
    return this.#accepted.promise
  }

  /** A gateway has sent the command. */
  get sent(): Promise<void> {
    return this.#sent.promise
  }

  /**
   * The device has acknowledged the command. Rejects with `command_not_confirmed` for a command
   * that asks for no acknowledgement, once it is sent.
   */
  get acknowledged(): Promise<void> {
    return this.#acknowledged.promise
  }

  /** True when no further step can come. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isAccepted(): boolean {
    return this.#isAccepted
  }

  /** The service has the command. */
  noteAccepted(isRepeated: boolean): void {
    this.#isAccepted = true
    this.#accepted.resolve({ id: this.id, repeated: isRepeated })
  }

  /** A gateway has sent the command: the last step of a command that is not confirmed. */
  noteSent(): void {
    this.noteAccepted(false)
    this.#sent.resolve()
    if (this.isConfirmed) return
    const sentence = 'the command asks for no acknowledgement: `confirmed` is not true'
    this.#acknowledged.reject(new FieldgateError('command_not_confirmed', sentence, { commandId: this.id }))
    this.#isOver = true
  }

  noteAcknowledged(): void {
    this.noteSent()
    this.#acknowledged.resolve()
    this.#isOver = true
  }

  /** The command has come to a bad end. */
  fail(error: FieldgateError): void {
    this.#isOver = true
    for (const { reject } of [this.#accepted, this.#sent, this.#acknowledged]) reject(error)
  }
}
