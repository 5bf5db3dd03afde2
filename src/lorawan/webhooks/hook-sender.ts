/** Sends the deliveries of one webhook, and reads commands from the answers. */
import type { Webhook } from '../../webhook-settings.ts'
import { parseCommand } from '../commands/command.ts'
import { answerText } from './delivery-log.ts'
import type { AnsweredCommand, DeliveryEntry, DeliveryLog } from './delivery-log.ts'
import { batchBody, eventBody } from './event-body.ts'
import type { HookSharing } from './hook-ports.ts'
import type { Delivery, QueuedEvent } from './hook-queue.ts'
import { judgeOutcome } from './judge-outcome.ts'
import type { Verdict } from './judge-outcome.ts'
import { signatureHeaders } from './signature.ts'
import type { WebhookAnswer, WebhookClient, WebhookOutcome } from './webhook-request.ts'

/** The fate of a delivery. */
interface Sent {
  readonly verdict: Verdict
  /** 0: no event's device has the tags that are asked for, and no request was made. */
  readonly events: number
}

export class HookSender {
  webhook: Webhook
  readonly #sharing: HookSharing
  readonly #log: DeliveryLog
  readonly #client: Pick<WebhookClient, 'send' | 'close'>
  readonly #aborting = new AbortController()

  constructor(sharing: HookSharing, webhook: Webhook, log: DeliveryLog) {
    this.#sharing = sharing
    this.webhook = webhook
    this.#log = log
    this.#client = sharing.createClient()
  }

  /**
   * Sends the events as one request. Resolves when the outcome is known, and when a command in the
   * answer is in its queue. Rejects when the registry can't be read.
   */
  async send(delivery: Delivery): Promise<Sent> {
    const { clock, counters } = this.#sharing
    const events = await this.#withTags(delivery.events)
    if (events.length === 0) return { verdict: { kind: 'delivered' }, events: 0 }
    const startedAt = clock.steady()
    const atMs = clock.now()
    const bodies = events.map((event) => eventBody(event, this.webhook.organizationId))
    const body = this.webhook.batch === undefined ? (bodies[0] as string) : batchBody(bodies)
    const outcome = await postSigned(this.#client, this.webhook, { id: delivery.id, body, atMs }, this.#aborting.signal)
    const verdict = judgeOutcome(outcome)
    counters.requests += 1
    if (verdict.kind !== 'delivered') counters.requestsFailed += 1
    const command = await this.#commandIn(outcome, verdict, events[0] as QueuedEvent).catch((error: unknown) => {
      // The receiver has the event: it must not get it again because of its answer.
      this.#sharing.logger.error({ webhookId: this.webhook.id, error }, 'webhook.command_not_queued')
      return refused('command_not_stored', 'the command could not be stored')
    })
    this.#log.add({
      ...entryOf({ webhookId: delivery.id, events, tries: delivery.tries, atMs }, outcome, verdict),
      durationMs: clock.steady() - startedAt,
      command,
    })
    return { verdict, events: events.length }
  }

  /** Notes that the webhook went on without these events. */
  noteSkipped({ id, events, tries }: Delivery, reason: string): void {
    const atMs = this.#sharing.clock.now()
    const verdict = { kind: 'refused', code: 'webhook_event_skipped', reason } as const
    const entry = entryOf({ webhookId: id, events, tries, atMs }, undefined, verdict)
    this.#log.add({ ...entry, outcome: 'skipped', durationMs: 0, command: undefined })
  }

  /** Ends the requests that are under way. */
  abort(): void {
    this.#aborting.abort()
  }

  close(): void {
    this.#client.close()
  }

  /** The events whose devices have the tags now. A tag of the registry counts, not of the event. */
  async #withTags(events: readonly QueuedEvent[]): Promise<readonly QueuedEvent[]> {
    const { tags } = this.webhook
    if (tags === undefined) return events
    const wanted = Object.entries(tags)
    const kept: QueuedEvent[] = []
    for (const event of events) {
      const found = await this.#sharing.registry.tagsOf(event.devEui)
      if (wanted.every(([name, value]) => Object.hasOwn(found, name) && found[name] === value)) kept.push(event)
    }
    return kept
  }

  async #commandIn(
    outcome: WebhookOutcome,
    verdict: Verdict,
    event: QueuedEvent,
  ): Promise<AnsweredCommand | undefined> {
    if (!this.webhook.acceptsCommands || verdict.kind !== 'delivered' || outcome.kind !== 'answered') return undefined
    if (outcome.status !== 200 || outcome.body.length === 0 || !isJson(outcome)) return undefined
    if (outcome.isCut) return refused('webhook_command_too_large', 'the answer has more than 16,384 bytes')
    const read = parseCommand(outcome.body)
    const { registry, commands, counters } = this.#sharing
    const place = await registry.placeOf(event.devEui)
    if (place?.organizationId !== this.webhook.organizationId) {
      return refused('command_device_unknown', 'the device no longer belongs to the organization')
    }
    // An event that is sent again must not bring the same command again.
    const id = `${this.webhook.id.slice(0, 8)}-${event.message.id}`
    const named =
      read.ok && read.command.id === undefined ? { ok: true as const, command: { ...read.command, id } } : read
    const answer = await commands.submit({ applicationId: place.applicationId, devEui: event.devEui }, named)
    if (!answer.ok) return { id: answer.id ?? '', outcome: answer.code, reason: answer.message }
    counters.commandsQueued += 1
    return { id: answer.id, outcome: answer.isRepeated ? 'repeated' : 'queued', reason: '' }
  }
}

/** Sends a signed request. Never rejects. */
export function postSigned(
  client: Pick<WebhookClient, 'send'>,
  webhook: Pick<Webhook, 'url' | 'headers' | 'secrets' | 'caCertificate' | 'timeoutSeconds'>,
  { id, body, atMs }: { readonly id: string; readonly body: string; readonly atMs: number },
  aborted?: AbortSignal,
): Promise<WebhookOutcome> {
  const content = { id, body, timestampSeconds: Math.floor(atMs / 1_000) }
  const request = {
    url: webhook.url,
    headers: { ...webhook.headers, ...signatureHeaders(content, webhook.secrets, atMs) },
    body,
    ca: webhook.caCertificate,
    timeoutMs: webhook.timeoutSeconds * 1_000,
  }
  return client.send(request, aborted)
}

/** The entry of a request, without its duration and its command. */
export function entryOf(
  request: {
    readonly webhookId: string
    readonly events: readonly Pick<QueuedEvent, 'devEui' | 'kind'>[]
    readonly tries: number
    readonly atMs: number
  },
  outcome: WebhookOutcome | undefined,
  verdict: Verdict,
): Omit<DeliveryEntry, 'durationMs' | 'command'> {
  const [first] = request.events
  const answered = outcome?.kind === 'answered' ? outcome : undefined
  return {
    atMs: request.atMs,
    outcome: verdict.kind === 'delivered' ? 'delivered' : 'failed',
    webhookId: request.webhookId,
    events: request.events.length,
    devEui: first?.devEui ?? '',
    kind: first?.kind ?? '',
    tries: request.tries,
    status: answered?.status,
    code: verdict.kind === 'delivered' ? '' : verdict.code,
    reason: verdict.kind === 'delivered' ? '' : verdict.reason,
    answer: answered === undefined ? '' : answerText(answered.body),
  }
}

function refused(outcome: string, reason: string): AnsweredCommand {
  return { id: '', outcome, reason }
}

function isJson({ contentType }: WebhookAnswer): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)
}
