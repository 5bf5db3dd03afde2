/** Webhooks over an engine in memory, with a registry, a clock and a receiver that a test moves. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine } from '../../broker/ports/engine.ts'
import { Message } from '../../broker/ports/message.ts'
import { partitionOfTopic } from '../../broker/sessions/subscription-index.ts'
import { TestClock } from '../../clock.testing.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { silentLogger } from '../../logger.ts'
import type { Webhook } from '../../webhook-settings.ts'
import type { CommandTarget } from '../commands/commands.ts'
import { durableStateOf } from '../commands/durable-state.ts'
import type { DurableState } from '../commands/durable-state.ts'
import { eventTopic } from '../topics.ts'
import type { AnyEventKind } from '../topics.ts'
import type { WebhookPorts } from './hook-ports.ts'
import type { WebhookOutcome, WebhookRequest } from './webhook-request.ts'
import { Webhooks } from './webhooks.ts'
import type { WebhookHomes } from './webhooks.ts'

/** A webhook of the organization `1`, with all its applications. */
export const TEST_WEBHOOK: Webhook = {
  id: 'aaaaaaaa-0000-4000-8000-000000000001',
  organizationId: '1',
  name: 'test',
  url: 'https://receiver.example.org/hook',
  concurrency: 4,
  timeoutSeconds: 10,
  giveUpSeconds: 3_600,
  onRefused: 'pause',
  acceptsCommands: false,
  headers: {},
  secrets: [{ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
  pause: undefined,
  generation: 0,
  startMs: 0,
  reachMs: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
}

/** An answer of a receiver. */
export function answerOf(status: number, fields: Partial<Extract<WebhookOutcome, { kind: 'answered' }>> = {}) {
  const none = { contentType: '', body: Buffer.alloc(0), isCut: false, retryAfterMs: undefined }
  return { kind: 'answered', status, ...none, ...fields } as const
}

/** No answer. */
export const AWAY: WebhookOutcome = { kind: 'failed', code: 'webhook_unreachable', reason: 'away' }

/** The DevEUI with that number. */
export function devEui(number: number): string {
  return number.toString(16).padStart(16, '0')
}

/** Parts that a test gives, where several nodes share a log. */
export interface SharedByNodes {
  readonly clock?: TestClock
  readonly engine?: Engine
  readonly homes?: WebhookHomes
  /** The state of the node; absent: the state of the engine. */
  readonly state?: DurableState
}

export class TestWebhooks {
  readonly clock: TestClock
  readonly engine: Engine
  readonly registered = new Map<string, Webhook>()
  /** By organization. */
  readonly applications = new Map<string, Set<string>>([
    ['1', new Set(['10', '11'])],
    ['2', new Set(['20'])],
  ])
  readonly tags = new Map<string, Record<string, string>>()
  readonly requests: WebhookRequest[] = []
  readonly commands: { readonly target: CommandTarget; readonly id: string | undefined }[] = []
  /** How the receiver answers. */
  answer: (request: WebhookRequest) => WebhookOutcome | Promise<WebhookOutcome> = () => answerOf(200)
  /** True: facts about applications can't be read. */
  isRegistryAway = false
  webhooks: Webhooks

  readonly #shared: SharedByNodes

  constructor(shared: SharedByNodes = {}) {
    this.#shared = shared
    this.clock = shared.clock ?? new TestClock()
    this.engine = shared.engine ?? new MemoryEngine({ retainedMessages: 10_000, clock: this.clock })
    this.webhooks = this.#create()
  }

  /** Opens the engine, and webhooks with these settings. */
  async open(...webhooks: readonly Partial<Webhook>[]): Promise<void> {
    await this.engine.open({ lowestNeeded: () => Infinity }, { arrived: (message) => this.webhooks.arrived(message) })
    for (const webhook of webhooks) this.register(webhook)
    await this.webhooks.open()
    await this.rest()
  }

  register(fields: Partial<Webhook>): Webhook {
    const webhook = { ...TEST_WEBHOOK, ...fields }
    this.registered.set(webhook.id, webhook)
    return webhook
  }

  /** Changes a webhook of the registry, and tells of it. */
  async change(fields: Partial<Webhook>): Promise<void> {
    const id = fields.id ?? TEST_WEBHOOK.id
    this.registered.set(id, { ...(this.registered.get(id) as Webhook), ...fields })
    await this.webhooks.changed(id)
    await this.rest()
  }

  /** Ends all webhooks, and opens them again over the same log and state. */
  async restart(): Promise<void> {
    await this.webhooks.close()
    await this.reopen()
  }

  /** Opens webhooks as a new process does, whatever became of the process before. */
  async reopen(): Promise<void> {
    this.webhooks = this.#create()
    await this.webhooks.load((prefix) => (this.#shared.state ?? this.engine).load(prefix))
    await this.webhooks.open()
    await this.rest()
  }

  /** Publishes an event. Resolves with its id when the log owns it. */
  publish(applicationId: string, eui: string, kind: AnyEventKind = 'up', content: object = {}): Promise<string> {
    const topicName = eventTopic(applicationId, eui, kind)
    const payload = Buffer.from(JSON.stringify(content))
    const fields = { topicName, payload, qos: 1, retain: false, properties: undefined, publisherKey: '' } as const
    const message = new Message(fields, Infinity)
    const partition = partitionOfTopic(topicName, this.engine.partitions)
    return new Promise((resolve, reject) => {
      this.engine.append(partition, {
        message,
        committed: () => resolve(message.id),
        failed: ({ reason }) => reject(new Error(reason)),
      })
    })
  }

  /** Waits until everything that can happen at this time has happened. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn()
  }

  /** Advances the time, and waits for what is due. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms)
    await this.rest()
  }

  /** The ids of the requests so far, and forgets them. */
  takeIds(): readonly string[] {
    return this.requests.splice(0).map(({ headers }) => headers['webhook-id'] as string)
  }

  #create(): Webhooks {
    return new Webhooks(this.#ports(), this.#shared.homes)
  }

  #ports(): WebhookPorts {
    const { engine, registered, clock } = this
    return {
      log: engine,
      partitionOf: (prefix) => partitionOfTopic(prefix, engine.partitions),
      state: this.#shared.state ?? durableStateOf(engine, (id) => id),
      registry: {
        all: async () => [...registered.values()],
        find: async (id) => registered.get(id),
        pause: async ({ id }, pause) => {
          await this.change({ id, pause: { ...pause, atMs: clock.now() } })
        },
        applicationsOf: (id) => this.applications.get(id) ?? new Set(),
        applicationCreatedAtMs: async () => {
          if (this.isRegistryAway) throw new Error('the registry is away')
          return 0
        },
        tagsOf: async (eui) => this.tags.get(eui) ?? {},
        placeOf: async (eui) => ({ applicationId: '10', organizationId: eui === devEui(0xf) ? '2' : '1' }),
      },
      commands: {
        submit: async (target, read) => {
          if (!read.ok) {
            return {
              ok: false,
              id: undefined,
              reasonCode: 0x99,
              code: read.code,
              member: read.member,
              message: read.message,
            }
          }
          const { id } = read.command
          const isRepeated = this.commands.some((known) => known.id === id)
          if (!isRepeated) this.commands.push({ target, id })
          return { ok: true, id: id ?? '', state: 'queued', isRepeated }
        },
      },
      tenantOf: (id) => id,
      createClient: () => ({
        send: async (request) => {
          this.requests.push(request)
          return this.answer(request)
        },
        close: () => {},
      }),
      clock,
      random: () => 0,
      logger: silentLogger,
    }
  }
}
