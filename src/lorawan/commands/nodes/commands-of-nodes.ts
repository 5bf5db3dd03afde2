/**
 * The commands of devices in a deployment of several nodes: each question goes to the home of the
 * application's queue. A command keeps its id when it is sent again, so that it is queued once.
 */
import { randomUUID } from 'node:crypto'
import { given } from '../../../given.ts'
import type { CommandResult, Command } from '../command.ts'
import { isAway } from '../commands.ts'
import type { CommandAnswer, Commands, CommandTarget, Flushed } from '../commands.ts'
import { DeviceOrder } from '../device-order.ts'
import type { DeviceCommands, ListedCommand, QueueAway } from '../device-commands.ts'
import type { Cancellation } from '../downlink-queue.ts'
import { commandFromWire, listedFromWire, toWire } from './questions.ts'
import type { CommandPage, TakenCommand } from './questions.ts'
import type { QueueHomes } from './queue-homes.ts'

export interface CommandsOfNodesOptions {
  readonly homes: QueueHomes
  /** The commands of this node. */
  readonly commands: Commands
  readonly here: DeviceCommands
}

/** The refusal of a home that can't store commands any more. */
const ENDING = 'the node ends, and its heir takes the command'
/** The commands of one answer together, in bytes; the others follow with the next question. */
const LISTED_BYTES = 600_000

export class CommandsOfNodes implements DeviceCommands {
  readonly #homes: QueueHomes
  readonly #commands: Commands
  readonly #here: DeviceCommands
  /** The next command of a device is sent when the home has answered the one before it. */
  readonly #order = new DeviceOrder<TakenCommand>(({ answer }) => !answer.ok && isAway(answer.code))

  constructor({ homes, commands, here }: CommandsOfNodesOptions) {
    this.#homes = homes
    this.#commands = commands
    this.#here = here
    this.#serve()
  }

  async submit(target: CommandTarget, read: CommandResult): Promise<CommandAnswer> {
    const { applicationId, devEui } = target
    const isFree = this.#order.isFree(devEui)
    if (!read.ok || (isFree && this.#homes.isKnownHere(applicationId))) return this.#here.submit(target, read)
    const command = { ...read.command, id: read.command.id ?? randomUUID() }
    const { answer, awaitsVerdict } = await this.#order.run(
      devEui,
      () => this.#take(target, command),
      () => this.#away(target, command.id),
    )
    const isRepeated = answer.ok && answer.isRepeated && read.command.id !== undefined
    const told = answer.ok ? { ...answer, isRepeated } : answer
    if (!awaitsVerdict || !told.ok) return told
    const asked = await this.#homes.ask('commands.verdict', { ...target, id: command.id, isRepeated })
    const judged = asked === 'here' ? await this.#commands.verdict(target, command.id, isRepeated) : asked
    const final = typeof judged === 'object' && 'answer' in judged ? judged.answer : judged
    if (final === undefined || typeof final === 'string') return told
    return final.ok ? { ...final, ...given({ warnings: told.warnings }) } : final
  }

  async list(organizationId: string, target: CommandTarget): Promise<readonly ListedCommand[] | QueueAway> {
    const items: ListedCommand[] = []
    for (;;) {
      const asked = await this.#homes.ask('commands.list', { ...target, organizationId, from: items.length })
      if (asked === 'here') return this.#here.list(organizationId, target)
      if (asked === 'nobody') return items
      if (asked === 'away') return asked
      items.push(...listedFromWire(asked.answer))
      if (asked.answer.isEnd) return items
    }
  }

  async cancel(organizationId: string, target: CommandTarget, id: string): Promise<Cancellation | QueueAway> {
    const asked = await this.#homes.ask('commands.cancel', { ...target, organizationId, id })
    if (asked === 'here') return this.#here.cancel(organizationId, target, id)
    if (asked === 'nobody') return 'unknown'
    return asked === 'away' ? asked : asked.answer
  }

  async flush(organizationId: string, target: CommandTarget): Promise<Flushed | undefined | QueueAway> {
    const asked = await this.#homes.ask('commands.flush', { ...target, organizationId })
    if (asked === 'here') return this.#here.flush(organizationId, target)
    if (asked === 'nobody') return { cancelled: [], sent: [] }
    return asked === 'away' ? asked : asked.answer.flushed
  }

  /** Answers the other nodes. */
  #serve(): void {
    const homes = this.#homes
    homes.serve('commands.submit', async ({ command, ...target }) => {
      // The other node asks again, until the heir of this one answers.
      if (homes.isEnding) throw new Error(ENDING)
      const taken = await this.#commands.take(target, { ok: true, command: commandFromWire(command) })
      if (homes.isEnding && !taken.answer.ok && isAway(taken.answer.code)) throw new Error(ENDING)
      return taken
    })
    homes.serve('commands.verdict', ({ id, isRepeated, ...target }) => this.#commands.verdict(target, id, isRepeated))
    homes.serve('commands.list', async ({ from, organizationId, ...target }) =>
      pageOf(await this.#here.list(organizationId, target), from),
    )
    homes.serve('commands.cancel', ({ organizationId, id, ...target }) => this.#here.cancel(organizationId, target, id))
    homes.serve('commands.flush', async ({ organizationId, ...target }) => ({
      flushed: await this.#here.flush(organizationId, target),
    }))
  }

  async #take(target: CommandTarget, command: Command & { readonly id: string }): Promise<TakenCommand> {
    const asked = await this.#homes.ask('commands.submit', { ...target, command: toWire(command) }, true)
    if (asked === 'here') return this.#commands.take(target, { ok: true, command })
    if (typeof asked === 'object') return asked.answer
    return this.#away(target, command.id)
  }

  #away(target: CommandTarget, id: string): TakenCommand {
    return { answer: this.#commands.refuseAway(target, id), awaitsVerdict: false }
  }
}

/** The commands from a place on, as many as an answer may have; at least one. */
function pageOf(all: readonly ListedCommand[] | QueueAway, from: number): CommandPage {
  const items: CommandPage['items'][number][] = []
  let bytes = 0
  const rest = all === 'away' ? [] : all.slice(from)
  for (const item of rest) {
    const wire = { ...item, content: toWire(item.content) }
    bytes += Buffer.byteLength(JSON.stringify(wire))
    if (items.length > 0 && bytes > LISTED_BYTES) return { items, isEnd: false }
    items.push(wire)
  }
  return { items, isEnd: true }
}
