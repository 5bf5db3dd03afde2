/**
 * Events about commands in a deployment of several nodes. An event may come in at any node; the
 * home of the application's queue matches it with its command.
 */
import { withCommandId } from '../command-event.ts'
import type { CommandEvent } from '../command-event.ts'
import { MAXIMUM_EVENT_BYTES } from '../command-events.ts'
import type { CommandEvents, PassingCommandEvents } from '../command-events.ts'
import type { Clock } from '../../../clock.ts'
import type { QueueHomes } from './queue-homes.ts'

export interface CommandEventsOfNodesOptions {
  readonly homes: QueueHomes
  /** The events of the queues at this node. */
  readonly here: CommandEvents
  readonly clock: Pick<Clock, 'after'>
}

type PassingEvent = Parameters<PassingCommandEvents['told']>[0]

/**
 * How long an event waits for the home; the later events of its device wait behind it. Then it goes
 * on without the command's id. The home is still told of it, for as long as a question lasts.
 */
const WAIT_MS = 300
/**
 * Events on their way to homes, some 1 kB each. Beyond it an event goes on at once, and its command
 * does not learn of it: a network server that floods a silent node with events takes no memory.
 */
const MAXIMUM_UNDER_WAY = 10_000

export class CommandEventsOfNodes implements PassingCommandEvents {
  /** How many events went on without an answer of the home. */
  unanswered = 0
  readonly #homes: QueueHomes
  readonly #here: CommandEvents
  readonly #clock: CommandEventsOfNodesOptions['clock']
  #underWay = 0

  constructor({ homes, here, clock }: CommandEventsOfNodesOptions) {
    this.#homes = homes
    this.#here = here
    this.#clock = clock
    homes.serve('commands.event', async ({ devEui, kind, payload }) => {
      const event: CommandEvent = { devEui, kind, payload: Buffer.from(payload, 'base64') }
      await here.named(event)
      return here.match(event)
    })
  }

  wants(topicName: string): boolean {
    return this.#here.wants(topicName)
  }

  told(event: PassingEvent): Buffer | Promise<Buffer> {
    const { applicationId, payload } = event
    if (this.#homes.isKnownHere(applicationId)) return this.#here.told(event)
    if (payload.length > MAXIMUM_EVENT_BYTES || this.#homes.isKnownEmpty(applicationId)) return payload
    if (this.#underWay < MAXIMUM_UNDER_WAY) return this.#tellInTime(event)
    this.unanswered += 1
    return payload
  }

  async #tellInTime(event: PassingEvent): Promise<Buffer> {
    const late = Promise.withResolvers<undefined>()
    const stop = this.#clock.after(WAIT_MS, () => late.resolve(undefined))
    this.#underWay += 1
    // The packet's memory is reused after the event has gone on.
    const told = this.#tell({ ...event, payload: Buffer.from(event.payload) }).finally(() => {
      this.#underWay -= 1
    })
    const named = await Promise.race([told, late.promise])
    stop()
    if (named !== undefined) return named
    this.unanswered += 1
    return event.payload
  }

  async #tell(event: PassingEvent): Promise<Buffer | undefined> {
    const { applicationId, devEui, kind, payload } = event
    const question = { applicationId, devEui, kind, payload: payload.toString('base64') }
    const asked = await this.#homes.ask('commands.event', question)
    if (asked === 'nobody') return payload
    if (asked === 'here') return this.#here.told(event)
    if (asked === 'away') return undefined
    return asked.answer === undefined ? payload : withCommandId(payload, asked.answer)
  }
}
