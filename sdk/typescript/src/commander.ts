/**
 * Sends commands, and follows the events that tell their fate. It has a connection of its own, so
 * that a loop over events may wait for a command.
 */
import type { IPublishPacket } from 'mqtt'
import { base64Of, objectOf, readTopic } from './event.ts'
import { SentCommand } from './command.ts'
import type { CommandInput } from './command.ts'
import { asFieldgateError, FieldgateError } from './errors.ts'
import type { HttpApi, ListedCommand } from './http-api.ts'
import { LastingConnection } from './lasting-connection.ts'
import type { ConnectionParts } from './lasting-connection.ts'
import type { Link } from './link.ts'

/** Commands whose fate is open. */
const MAXIMUM_OPEN = 10_000
const RECEIVE_MAXIMUM = 256
/** The Session outlives a lost connection by so many seconds. */
const SESSION_SECONDS = 300

interface Open {
  /** The connection on which the command was published last. */
  link: Link | undefined
  readonly command: SentCommand
  readonly applicationId: string
  readonly payload: string
}

type Json = Readonly<Record<string, unknown>>

export class Commander {
  readonly #api: HttpApi
  readonly #connection: LastingConnection
  readonly #closing: AbortController
  readonly #open = new Map<string, Open>()
  /** By Topic Filter: the number of open commands that need it. */
  readonly #filters = new Map<string, number>()
  readonly #applications = new Map<string, Promise<string>>()
  readonly #log: ConnectionParts['log']
  readonly #running: Promise<void>
  #error: FieldgateError | undefined = undefined

  constructor(api: HttpApi, parts: ConnectionParts, signal: AbortSignal) {
    this.#api = api
    this.#log = parts.log
    this.#closing = new AbortController()
    const clientId = `fieldgate-sdk-commands-${crypto.randomUUID()}`
    this.#connection = new LastingConnection(
      parts,
      {
        clientId,
        sessionExpirySeconds: SESSION_SECONDS,
        receiveMaximum: RECEIVE_MAXIMUM,
        signal: AbortSignal.any([signal, this.#closing.signal]),
      },
      { take: (packet, link) => this.#took(packet, link), connected: (link) => this.#connected(link) },
    )
    this.#running = this.#connection.run().then(
      () => this.#failAll(new FieldgateError('closed', 'the client was closed')),
      (error: unknown) => this.#failAll(asFieldgateError(error)),
    )
  }

  /** Begins to send a command. `applicationId` saves a question to the service. */
  send(devEui: string, applicationId: string | undefined, input: CommandInput): SentCommand {
    const id = input.id ?? crypto.randomUUID()
    const command = new SentCommand(id, devEui, input.confirmed ?? false)
    if (this.#error !== undefined) command.fail(this.#error)
    else if (this.#open.size >= MAXIMUM_OPEN) {
      command.fail(
        new FieldgateError('too_many_commands', `${MAXIMUM_OPEN} commands are on their way`, { commandId: id }),
      )
    } else {
      this.#begin(command, applicationId, input).catch((error: unknown) => this.#fail(command, asFieldgateError(error)))
    }
    return command
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #begin(command: SentCommand, given: string | undefined, input: CommandInput): Promise<void> {
    const applicationId = given ?? (await this.#applicationOf(command.devEui))
    const { data, confirmed = false } = input
    const bytes = data === undefined ? {} : { data: typeof data === 'string' ? data : base64Of(data) }
    const payload = JSON.stringify({ ...input, ...bytes, id: command.id, confirmed })
    const open: Open = { link: undefined, command, applicationId, payload }
    this.#open.set(command.id, open)
    const filter = filterOf(applicationId, command.devEui)
    this.#filters.set(filter, (this.#filters.get(filter) ?? 0) + 1)
    const link = await this.#connection.ready()
    try {
      await link.subscribe([filter])
    } catch (error) {
      // The next connection subscribes, and publishes the command.
      if (link.isClosed) return
      throw error
    }
    await this.#publish(link, open)
  }

  async #publish(link: Link, open: Open): Promise<void> {
    const { command, applicationId, payload } = open
    if (open.link === link) return
    open.link = link
    const device = `application/${applicationId}/device/${command.devEui}`
    try {
      await link.publish(`${device}/command/down`, payload, {
        responseTopic: `${device}/event/response`,
        correlationData: new TextEncoder().encode(command.id),
      })
      // The queue owns the command. The answer on the Response Topic may have said so already.
      if (!command.isOver && !command.isAccepted) command.noteAccepted(false)
    } catch (error) {
      const fault = asFieldgateError(error)
      // The next connection publishes the command again. The service takes one id once.
      if (fault.code !== 'publish_refused') return
      // The answer and the event say more than the Reason Code, and may be a moment behind it.
      await link.subscribe([filterOf(applicationId, command.devEui)]).catch(() => {})
      const { reasonCode } = fault
      this.#fail(
        command,
        new FieldgateError('command_refused', fault.message, { ...details(reasonCode), commandId: command.id }),
      )
    }
  }

  async #connected(link: Link): Promise<void> {
    await link.subscribe([...this.#filters.keys()])
    for (const open of this.#open.values()) {
      if (!open.command.isAccepted) void this.#publish(link, open)
      // Events about it may be lost with the Session.
      else if (!link.isSessionPresent) void this.#reconcile(open)
    }
  }

  #took(packet: IPublishPacket, link: Link): undefined {
    const topic = readTopic(packet.topic)
    const body = objectOf(packet.payload as Uint8Array)
    if (topic !== undefined && body !== undefined) this.#learn(topic.kind, body)
    if (packet.qos > 0) link.acknowledge(packet.messageId as number)
    return undefined
  }

  #learn(kind: string, body: Json): void {
    const { commandId, id, code } = body
    const open = this.#open.get(String(kind === 'response' ? id : commandId))
    if (open === undefined) return
    const { command } = open
    if (kind === 'response') {
      if (body['accepted'] !== true) this.#fail(command, errorOf(command, code, body['error']))
      else this.#accepted(open, body['repeated'] === true)
      return
    }
    if (kind === 'txack') command.noteSent()
    else if (kind === 'ack' && body['acknowledged'] === true) command.noteAcknowledged()
    else if (kind === 'ack') this.#fail(command, errorOf(command, 'command_not_acknowledged', undefined))
    else if (kind === 'error' || kind === 'log') this.#bad(open, code, body['error'] ?? body['description'])
    if (command.isOver) this.#forget(command)
  }

  #accepted(open: Open, isRepeated: boolean): void {
    open.command.noteAccepted(isRepeated)
    // Events about a command that the service has had for some time may be over.
    if (isRepeated) void this.#reconcile(open)
  }

  /** An event of the network server may tell of a fault that does not end the command. */
  #bad(open: Open, code: unknown, sentence: unknown): void {
    if (typeof code === 'string' && code.startsWith('command_'))
      this.#fail(open.command, errorOf(open.command, code, sentence))
    else void this.#reconcile(open)
  }

  /** Asks the service where the command stands. */
  async #reconcile({ command }: Open): Promise<void> {
    try {
      const found = await this.#api.command(command.devEui, command.id)
      if (found === undefined || command.isOver) return
      this.#settle(command, found)
    } catch (error) {
      const { code, message } = asFieldgateError(error)
      this.#log({ level: 'warn', message: 'command.not_asked', commandId: command.id, code, reason: message })
    }
  }

  #settle(command: SentCommand, { state, code, error, transmittedAt }: ListedCommand): void {
    if (transmittedAt !== null) command.noteSent()
    if (state === 'acknowledged') command.noteAcknowledged()
    const isBad = ['not_acknowledged', 'unconfirmed', 'failed', 'expired', 'cancelled'].includes(state)
    if (isBad) this.#fail(command, errorOf(command, code === '' ? `command_${state}` : code, error))
    else if (command.isOver) this.#forget(command)
  }

  #fail(command: SentCommand, error: FieldgateError): void {
    command.fail(error)
    this.#forget(command)
  }

  #forget(command: SentCommand): void {
    const open = this.#open.get(command.id)
    if (open?.command !== command) return
    this.#open.delete(command.id)
    const filter = filterOf(open.applicationId, command.devEui)
    const left = (this.#filters.get(filter) ?? 1) - 1
    if (left > 0) this.#filters.set(filter, left)
    else {
      this.#filters.delete(filter)
      void this.#unsubscribe(filter)
    }
  }

  async #unsubscribe(filter: string): Promise<void> {
    if (this.#error !== undefined) return
    const link = await this.#connection.ready()
    if (!this.#filters.has(filter)) await link.unsubscribe([filter]).catch(() => {})
  }

  #failAll(error: FieldgateError): void {
    this.#error = error
    for (const { command } of this.#open.values()) command.fail(error)
    this.#open.clear()
  }

  #applicationOf(devEui: string): Promise<string> {
    const known = this.#applications.get(devEui)
    if (known !== undefined) return known
    const asked = this.#api.applicationOf(devEui)
    // A device may move, and the bound keeps a fleet of devices out of the memory.
    if (this.#applications.size >= MAXIMUM_OPEN) this.#applications.clear()
    this.#applications.set(devEui, asked)
    asked.catch(() => this.#applications.delete(devEui))
    return asked
  }
}

function filterOf(applicationId: string, devEui: string): string {
  return `application/${applicationId}/device/${devEui}/event/+`
}

function errorOf(command: SentCommand, code: unknown, sentence: unknown): FieldgateError {
  const { id } = command
  const text = typeof sentence === 'string' && sentence !== '' ? sentence : `the fate of the command: ${String(code)}`
  return new FieldgateError(typeof code === 'string' ? code : 'command_failed', text, { commandId: id })
}

function details(reasonCode: number | undefined): { readonly reasonCode?: number } {
  return reasonCode === undefined ? {} : { reasonCode }
}
