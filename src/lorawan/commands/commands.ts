/**
 * Commands from all senders: each is judged, encoded, put into its device's queue, and answered.
 * The callers for MQTT and HTTP turn the answer into their own form.
 */
import { randomUUID } from 'node:crypto'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import { dataLengthFault, objectFault } from './command.ts'
import type { Command, CommandFault, CommandResult } from './command.ts'
import { plainWait } from './command-waits.ts'
import type { CommandWait } from './command-waits.ts'
import type { CommandPorts } from './command-ports.ts'
import type { CommandCodec } from './command-registry.ts'
import type { DownlinkHandOver } from './downlink-hand-over.ts'
import type { DownlinkContent, DownlinkItem, DownlinkState, EnqueueFault } from './downlink-item.ts'
import type { Cancellation, DownlinkQueue } from './downlink-queue.ts'

/** The device that a command is for, as its sender named it. */
export interface CommandTarget {
  readonly applicationId: string
  readonly devEui: string
}

/** The answer to a command that is in the queue. */
export interface CommandAccepted {
  readonly ok: true
  readonly id: string
  readonly state: DownlinkState
  /** True when the same command had come before. There is still only one in the queue. */
  readonly isRepeated: boolean
}

/** The answer to a command that is not in the queue. */
export interface CommandRefused {
  readonly ok: false
  /** The command's id, if it has one. */
  readonly id: string | undefined
  readonly reasonCode: ReasonCode
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: string
  /** The member at fault; undefined when the command as a whole is. */
  readonly member: string | undefined
  /** For people; names the member and the fault, and repeats no text of the payload. */
  readonly message: string
}

export type CommandAnswer = CommandAccepted | CommandRefused

/** The ids of a device's commands after its queue was emptied. */
export interface Flushed {
  /** The cancelled commands, the earliest first. */
  readonly cancelled: readonly string[]
  /**
   * Commands that the network server has, and can't or won't forget: they may have been sent, or
   * will be.
   */
  readonly sent: readonly string[]
}

export interface CommandsOptions extends Pick<CommandPorts, 'places' | 'registry' | 'encoder' | 'clock' | 'log'> {
  readonly queue: DownlinkQueue
  readonly handOver: DownlinkHandOver
}

/** The content of a command: bytes, or an object for the network server's codec. */
type Payload = Pick<DownlinkContent, 'data' | 'object'>

/** A command that the durable queue owns. */
interface Queued {
  readonly item: DownlinkItem
  readonly isRepeated: boolean
  /** The state when the queue owned the command. */
  readonly state: DownlinkState
  /** Resolves when a network server that judges downlinks has answered the offer. */
  readonly verdict: Promise<void> | undefined
}

/**
 * How long a sender waits for a network server that judges downlinks. It is longer than such a
 * network server needs, and so short that a hanging one does not hold up a client's connection.
 */
const VERDICT_WAIT_MS = 2_000

const REASON_CODE_OF: Readonly<Record<EnqueueFault, ReasonCode>> = {
  command_id_taken: ReasonCodes.payloadFormatInvalid,
  command_queue_full: ReasonCodes.quotaExceeded,
  command_not_stored: ReasonCodes.quotaExceeded,
}

export class Commands {
  readonly #options: CommandsOptions
  /**
   * By DevEUI: the device's commands that are being judged, in order. The messages that connections
   * may have unacknowledged bound it.
   */
  readonly #underWay = new Map<string, Promise<unknown>>()
  /** How many commands were refused, by `command:` and the code. */
  readonly refusals = new Map<string, number>()

  constructor(options: CommandsOptions) {
    this.#options = options
  }

  /**
   * Judges a command that was read from the wire. Resolves when the command is refused, or when the
   * durable queue owns it. The payload behind `read` is no longer needed then. Rejects only when
   * the registry can't be read.
   */
  async submit(target: CommandTarget, read: CommandResult): Promise<CommandAnswer> {
    const owned = await this.#inOrder(target.devEui, async () =>
      read.ok ? this.#judge(target, read.command) : refusedFor(read),
    )
    const answer = 'item' in owned ? await this.#answerOf(owned) : owned
    if (!answer.ok) this.#count(target, answer)
    return answer
  }

  /** The device's commands, as `DownlinkQueue.list` gives them. */
  list(organizationId: string, devEui: string): readonly DownlinkItem[] {
    return this.#options.queue.list(organizationId, devEui)
  }

  /**
   * Why the command waits now, here or at its network server; undefined when it waits for nothing.
   */
  waitOf(item: DownlinkItem): CommandWait | undefined {
    if (item.state !== 'sent' || item.isForgotten) return this.#options.handOver.waitOf(item)
    if (item.awaitsWord) return plainWait('next_uplink')
    return item.content.confirmed ? plainWait('device_acknowledgement') : undefined
  }

  /** Cancels a command that waits. */
  cancel(organizationId: string, devEui: string, id: string): Promise<Cancellation> {
    return this.#options.queue.cancel(organizationId, devEui, id)
  }

  /**
   * Cancels all commands that wait, also at a network server that can forget them. Undefined when
   * the cancellation could not be stored.
   */
  async flush(organizationId: string, { applicationId, devEui }: CommandTarget): Promise<Flushed | undefined> {
    const { queue, handOver } = this.#options
    const cancelled = await queue.flush(organizationId, devEui)
    if (cancelled === undefined) return undefined
    const recalled = await handOver.flush(applicationId, devEui)
    return { cancelled: [...recalled, ...cancelled], sent: queue.away(organizationId, devEui) }
  }

  /**
   * Puts the commands of one device into its queue in the order in which they came, even if one has
   * to wait for a codec and the next has not.
   */
  async #inOrder(devEui: string, judge: () => Promise<CommandRefused | Queued>): Promise<CommandRefused | Queued> {
    const judged = (this.#underWay.get(devEui) ?? Promise.resolve()).then(judge)
    const settled = judged.catch(() => {})
    this.#underWay.set(devEui, settled)
    try {
      return await judged
    } finally {
      if (this.#underWay.get(devEui) === settled) this.#underWay.delete(devEui)
    }
  }

  async #judge({ applicationId, devEui }: CommandTarget, command: Command): Promise<CommandRefused | Queued> {
    const { places, clock } = this.#options
    const { id } = command
    if (command.devEui !== undefined && command.devEui !== devEui) {
      const message = 'devEui: is another device than the one that is addressed'
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_device_mismatch', message, 'devEui')
    }
    if (command.expiresAtMs !== undefined && command.expiresAtMs <= clock.now()) {
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_expired', 'expiresAt: is in the past', 'expiresAt')
    }
    const place = await places.device(devEui)
    if (place?.applicationId !== applicationId) {
      const message = 'there is no such device in the application'
      return refused(id, ReasonCodes.notAuthorized, 'command_device_unknown', message)
    }
    if (place.isDisabled) {
      return refused(id, ReasonCodes.notAuthorized, 'command_device_disabled', 'the device is disabled')
    }
    const payload = await this.#payloadOf(applicationId, devEui, command)
    if ('ok' in payload) return payload
    return this.#enqueue(command, payload, { applicationId, devEui, organizationId: place.organizationId })
  }

  /**
   * The content to send. If the application has a codec, it is the bytes that the codec makes of
   * the object; otherwise it is the object itself, if the network server has a codec.
   */
  async #payloadOf(applicationId: string, devEui: string, command: Command): Promise<Payload | CommandRefused> {
    const { object, data, id } = command
    if (object === undefined) return { data: data ?? Buffer.alloc(0) }
    const configured = (await this.#options.registry.codecOf(applicationId)) ?? { codec: '', encoderScript: '' }
    const { codec } = configured
    const goesOn = codec === '' && this.#options.handOver.takesObjects(applicationId)
    const fault = goesOn ? undefined : objectFault(object, codec)
    if (fault !== undefined) return refusedFor({ ...fault, id })
    if (codec === '' && data !== undefined) return { data }
    if (goesOn) return { data, object }
    if (codec === '') return noCodec(id)
    return this.#encode(configured, { ...command, object }, applicationId, devEui)
  }

  async #encode(
    { codec, encoderScript }: CommandCodec,
    { object, fPort, id }: Command & { readonly object: NonNullable<Command['object']> },
    applicationId: string,
    devEui: string,
  ): Promise<Payload | CommandRefused> {
    if (codec === '') return { data: Buffer.alloc(0) }
    const { registry, encoder } = this.#options
    const variables = codec === 'CUSTOM_JS' ? await registry.variablesOf(devEui) : {}
    const encoding = { applicationId, codec, script: encoderScript, fPort, object, variables }
    const encoded = await encoder.encodeDownlink(encoding)
    if (!encoded.ok) {
      const message = `object: ${encoded.message}`
      return refused(id, ReasonCodes.payloadFormatInvalid, 'command_codec_failed', message, 'object')
    }
    const fault = dataLengthFault(encoded.data)
    return fault === undefined ? { data: encoded.data } : refusedFor({ ...fault, id })
  }

  async #enqueue(
    { id, confirmed, fPort, priority, expiresAtMs, replace }: Command,
    payload: Payload,
    whose: CommandTarget & { readonly organizationId: string },
  ): Promise<CommandRefused | Queued> {
    const { queue, handOver } = this.#options
    const content = { id: id ?? randomUUID(), confirmed, fPort, ...payload, priority, expiresAtMs, replaces: replace }
    const enqueued = await queue.enqueue({ ...content, ...whose })
    if (!enqueued.ok) {
      const { code, reason } = enqueued
      return refused(id, REASON_CODE_OF[code], code, reason, code === 'command_id_taken' ? 'id' : undefined)
    }
    const { item, isRepeated } = enqueued
    return { item, isRepeated, state: item.state, verdict: handOver.verdictOn(item) }
  }

  async #answerOf({ item, isRepeated, state: before, verdict }: Queued): Promise<CommandAnswer> {
    if (verdict !== undefined) await this.#waitFor(verdict)
    const state = verdict === undefined ? before : item.state
    const { failure } = item
    if (state === 'failed' && failure?.code === 'command_refused') {
      return refused(item.content.id, ReasonCodes.implementationSpecificError, failure.code, failure.reason)
    }
    return { ok: true, id: item.content.id, state, isRepeated }
  }

  /** Waits for the verdict, but no longer than `VERDICT_WAIT_MS`. */
  async #waitFor(verdict: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const stop = this.#options.clock.after(VERDICT_WAIT_MS, late.resolve)
    await Promise.race([verdict, late.promise])
    stop()
  }

  #count({ devEui }: CommandTarget, { code, id }: CommandRefused): void {
    const key = `command:${code}`
    this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1)
    this.#options.log.warn({ devEui, commandId: id, code }, 'command.refused')
  }
}

function noCodec(id: string | undefined): CommandRefused {
  const message = 'object: neither the application nor its network server has a codec for it; send data'
  return refused(id, ReasonCodes.payloadFormatInvalid, 'command_codec_missing', message, 'object')
}

/** The answer to a command that could not be read. */
function refusedFor({ id, member, code, message }: CommandFault): CommandRefused {
  return refused(id, ReasonCodes.payloadFormatInvalid, `command_${code}`, message, member)
}

function refused(
  id: string | undefined,
  reasonCode: ReasonCode,
  code: string,
  message: string,
  member?: string,
): CommandRefused {
  return { ok: false, id, reasonCode, code, member, message }
}
