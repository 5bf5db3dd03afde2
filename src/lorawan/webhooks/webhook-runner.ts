/**
 * One webhook while it runs at this node: it takes events from its reader, sends them, tries again,
 * and pauses itself when nothing helps.
 */
import { later, dayTimeOf } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Webhook, WebhookPauseCode } from '../../webhook-settings.ts'
import { Backoff } from '../network-servers/adapter/backoff.ts'
import { DeliveryLog, noticeOf } from './delivery-log.ts'
import type { HookRecord } from './hook-record.ts'
import type { HookSharing } from './hook-ports.ts'
import { HookQueue } from './hook-queue.ts'
import type { Delivery } from './hook-queue.ts'
import { HookReader } from './hook-reader.ts'
import { HookSender } from './hook-sender.ts'
import type { Verdict } from './judge-outcome.ts'

/** How a webhook stands. */
export interface WebhookStanding {
  readonly state: 'running' | 'failing' | 'paused'
  /** Events that were read and that the receiver does not have yet. */
  readonly waitingEvents: number
  /** True: no further events wait in the log. */
  readonly isAtTail: boolean
  readonly requestsUnderWay: number
  /** ms since 1970; undefined: not since the start. */
  readonly deliveredAtMs: number | undefined
  /** When the first of the failures came that no delivery has followed, ms since 1970. */
  readonly failingSinceMs: number | undefined
  /** The next request is not before this time, ms since 1970; undefined: it does not wait. */
  readonly nextTryAtMs: number | undefined
  /** Events that the log has lost before they were sent: at most so many. */
  readonly missedAtMost: number
  readonly eventsDelivered: number
  readonly eventsSkipped: number
}

/** The waits of one delivery, and of the whole webhook. */
const RETRYING = { minimumMs: 1_000, maximumMs: 300_000 } as const
/** After so many refusals of the same events, the events are at fault. */
const MAXIMUM_REFUSALS = 8
/** After so many failures without a delivery between them, the receiver counts as away. */
const AWAY_AFTER = 3
/** A webhook that could not be marked as paused tries that again after this time. */
const PAUSE_AGAIN_MS = 5_000

export class WebhookRunner {
  readonly log = new DeliveryLog()
  readonly #sharing: HookSharing
  readonly #sender: HookSender
  readonly #backoff: Backoff
  #webhook: Webhook
  #queue: HookQueue
  #reader: HookReader | undefined
  #record: HookRecord
  #isDirty = true
  #isStopped = true
  #underWay = 0
  #failures = 0
  #isAway = false
  #failingSinceMs: SteadyMs | undefined
  #gateMs: SteadyMs | undefined
  #deliveredAtMs: number | undefined
  #eventsDelivered = 0
  #eventsSkipped = 0
  #cancelTimer: () => void = () => {}
  #isPumping = false
  #idle: (() => void)[] = []
  #changing: Promise<void> = Promise.resolve()

  /** `record`: where an earlier process has come; undefined for a new webhook. */
  constructor(sharing: HookSharing, webhook: Webhook, record: HookRecord | undefined) {
    this.#sharing = sharing
    this.#webhook = webhook
    this.#backoff = new Backoff({ ...RETRYING, random: sharing.random })
    this.#record = recordFor(webhook, record)
    const { failingForMs } = this.#record
    this.#failingSinceMs = failingForMs === undefined ? undefined : later(sharing.clock.steady(), -failingForMs)
    this.#queue = this.#createQueue()
    this.#sender = new HookSender(sharing, webhook, this.log)
  }

  get webhook(): Webhook {
    return this.#webhook
  }

  get standing(): WebhookStanding {
    const { clock } = this.#sharing
    const isPaused = this.#webhook.pause !== undefined
    const dayTime = (moment: SteadyMs | undefined): number | undefined =>
      moment === undefined ? undefined : dayTimeOf(moment, clock)
    const waitsUntil = this.#gateMs ?? this.#queue.readyAtMs()
    return {
      state: isPaused ? 'paused' : this.#failingSinceMs === undefined ? 'running' : 'failing',
      waitingEvents: this.#queue.size,
      isAtTail: this.#reader?.isAtTail ?? false,
      requestsUnderWay: this.#underWay,
      deliveredAtMs: this.#deliveredAtMs,
      failingSinceMs: dayTime(this.#failingSinceMs),
      nextTryAtMs:
        isPaused || waitsUntil === undefined || waitsUntil <= clock.steady() ? undefined : dayTime(waitsUntil),
      missedAtMost: this.#record.missedAtMost,
      eventsDelivered: this.#eventsDelivered,
      eventsSkipped: this.#eventsSkipped,
    }
  }

  /** Begins to run, unless the webhook is paused. */
  start(): Promise<void> {
    return this.#change(async () => this.#begin())
  }

  /**
   * Goes on with other settings. Requests under way are waited for, so that order holds. The
   * settings may say that the webhook is paused, or begins again elsewhere.
   */
  update(webhook: Webhook): Promise<void> {
    return this.#change(async () => {
      await this.#halt()
      const isResumed = this.#webhook.pause !== undefined && webhook.pause === undefined
      this.#webhook = webhook
      this.#record = recordFor(webhook, this.record())
      this.#sender.webhook = webhook
      if (isResumed) this.#forgetFailures()
      this.#isDirty = true
      await this.#begin()
    })
  }

  /** The organization's applications have changed. */
  applicationsChanged(): Promise<void> {
    return this.#change(async () => {
      await this.#reader?.follow(await this.#applications())
    })
  }

  /** Stops. Requests under way get this time (ms) to come to their end. */
  async close(patienceMs: number): Promise<void> {
    const cancel = this.#sharing.clock.after(patienceMs, () => this.#sender.abort())
    await this.#change(() => this.#halt())
    cancel()
    this.#sender.close()
  }

  /** True once after each change of the record. */
  takeDirty(): boolean {
    const isDirty = this.#isDirty
    this.#isDirty = false
    return isDirty
  }

  /** The record could not be written: it has to be written again. */
  markDirty(): void {
    this.#isDirty = true
  }

  /** The record from which a later process goes on. */
  record(): HookRecord {
    const { clock } = this.#sharing
    const { generation, missedAtMost } = this.#record
    const places = this.#reader?.places() ?? this.#record.places
    if (this.#failingSinceMs === undefined) return { generation, places, missedAtMost }
    return { generation, places, missedAtMost, failingForMs: clock.steady() - this.#failingSinceMs }
  }

  /** Changes run one after the other. */
  #change(work: () => Promise<void>): Promise<void> {
    this.#changing = this.#changing.then(work).catch((error: unknown) => {
      this.#sharing.logger.error({ webhookId: this.#webhook.id, error }, 'webhook.not_changed')
      // The registry may be away: the start is made again.
      this.#cancelTimer()
      this.#cancelTimer = this.#sharing.clock.after(PAUSE_AGAIN_MS, () => void this.update(this.#webhook))
    })
    return this.#changing
  }

  async #begin(): Promise<void> {
    if (this.#webhook.pause !== undefined) return
    this.#queue = this.#createQueue()
    const reader = new HookReader(this.#sharing, {
      webhook: this.#webhook,
      queue: this.#queue,
      places: this.#record.places,
      onAdded: () => this.#pumpSoon(),
      onMissed: (events) => this.#missed(events),
    })
    this.#reader = reader
    this.#isStopped = false
    await reader.follow(await this.#applications())
  }

  /** Stops to read and to send. Resolves when no request is under way. */
  async #halt(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    this.#reader?.close()
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    this.#record = this.record()
    this.#reader = undefined
    this.#queue = this.#createQueue()
  }

  async #applications(): Promise<readonly string[]> {
    const { applicationIds, organizationId } = this.#webhook
    const all = await this.#sharing.registry.applicationsOf(organizationId)
    return applicationIds === undefined ? [...all] : applicationIds.filter((id) => all.has(id))
  }

  #createQueue(): HookQueue {
    return new HookQueue(this.#webhook.batch, () => new Backoff({ ...RETRYING, random: this.#sharing.random }))
  }

  #pumpSoon(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    this.#sharing.clock.afterTurn(() => {
      this.#isPumping = false
      this.#pump()
    })
  }

  #pump(): void {
    const now = this.#sharing.clock.steady()
    const most = this.#isAway ? 1 : this.#webhook.concurrency
    while (!this.#isStopped && this.#underWay < most && (this.#gateMs === undefined || this.#gateMs <= now)) {
      const delivery = this.#queue.take(now)
      if (delivery === undefined) break
      this.#underWay += 1
      void this.#deliver(delivery)
    }
    this.#wakeLater(now)
  }

  #wakeLater(now: SteadyMs): void {
    this.#cancelTimer()
    if (this.#isStopped) return
    const readyAtMs = this.#queue.readyAtMs()
    const atMs = this.#gateMs !== undefined && this.#gateMs > now ? this.#gateMs : readyAtMs
    // A batch that is due waits for a request that is under way.
    if (atMs === undefined || atMs <= now) return
    this.#cancelTimer = this.#sharing.clock.after(atMs - now, () => this.#pump())
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const queue = this.#queue
    delivery.tries += 1
    try {
      const { verdict, events } = await this.#sender.send(delivery)
      if (events === 0) queue.done(delivery)
      else this.#settle(delivery, verdict, events)
    } catch (error) {
      // A fault of ours or of the registry: the events stay.
      this.#sharing.logger.error({ webhookId: this.#webhook.id, error }, 'webhook.not_sent')
      queue.retry(delivery, later(this.#sharing.clock.steady(), delivery.backoff.next()))
    }
    this.#underWay -= 1
    this.#isDirty = true
    if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve()
    if (this.#isStopped) return
    this.#reader?.fill()
    this.#pump()
  }

  #settle(delivery: Delivery, verdict: Verdict, events: number): void {
    const { clock, counters } = this.#sharing
    if (verdict.kind === 'delivered') {
      this.#queue.done(delivery)
      this.#deliveredAtMs = clock.now()
      this.#eventsDelivered += events
      counters.eventsDelivered += events
      if (this.#isAway) this.#queue.hurry(clock.steady())
      this.#forgetFailures()
      return
    }
    if (this.#isStopped) return
    if (verdict.kind === 'gone') this.#pauseItself('webhook_gone', `${verdict.reason}: it wants no further events`)
    else this.#failed(delivery, verdict)
  }

  #failed(delivery: Delivery, verdict: Exclude<Verdict, { readonly kind: 'delivered' | 'gone' }>): void {
    const now = this.#sharing.clock.steady()
    const giveUpMs = this.#webhook.giveUpSeconds * 1_000
    delivery.failedSinceMs ??= now
    if (verdict.kind === 'refused') {
      delivery.refusals += 1
      // The receiver is there: other events go on.
      this.#isAway = false
      this.#gateMs = undefined
      if (delivery.refusals >= MAXIMUM_REFUSALS) {
        this.#giveUp(delivery, verdict.reason)
        return
      }
    } else {
      this.#failures += 1
      this.#failingSinceMs ??= now
      if (now - this.#failingSinceMs >= giveUpMs) {
        this.#pauseItself('webhook_failing', `nothing could be delivered for ${giveUpMs / 1_000} s: ${verdict.reason}`)
        return
      }
      if (now - delivery.failedSinceMs >= giveUpMs) {
        this.#giveUp(delivery, verdict.reason)
        return
      }
      this.#isAway ||= verdict.kind === 'away' || this.#failures >= AWAY_AFTER
    }
    const waitMs = delivery.backoff.next()
    const retryAfterMs = verdict.kind === 'away' ? verdict.retryAfterMs : 0
    if (this.#isAway) this.#gateMs = later(now, Math.max(this.#backoff.next(), retryAfterMs))
    this.#queue.retry(delivery, later(now, Math.max(waitMs, retryAfterMs)))
  }

  /** These events will not be taken, though others are. */
  #giveUp(delivery: Delivery, reason: string): void {
    if (delivery.events.length > 1) {
      this.#queue.split(delivery)
      return
    }
    if (this.#webhook.onRefused === 'pause') {
      const [event] = delivery.events
      this.#pauseItself('webhook_event_refused', `${reason} to the event ${event?.message.id ?? ''} time and again`)
      return
    }
    this.#queue.done(delivery)
    this.#eventsSkipped += 1
    this.#sharing.counters.eventsSkipped += 1
    this.#sender.noteSkipped(delivery, reason)
  }

  #forgetFailures(): void {
    this.#failures = 0
    this.#isAway = false
    this.#failingSinceMs = undefined
    this.#gateMs = undefined
    this.#backoff.reset()
  }

  #missed(events: number): void {
    const { clock, counters, logger } = this.#sharing
    const { id: webhookId, organizationId } = this.#webhook
    counters.eventsMissed += events
    this.#record = { ...this.#record, missedAtMost: this.#record.missedAtMost + events }
    this.#isDirty = true
    const reason = `the log has lost at most ${events} messages before they were sent: retention was faster`
    this.log.add(noticeOf('missed', { atMs: clock.now(), events, code: 'webhook_events_missed', reason }))
    logger.warn({ webhookId, organizationId, events }, 'webhook.events_missed')
  }

  /** Stops at once, and has the registry mark the webhook as paused. */
  #pauseItself(code: WebhookPauseCode, reason: string): void {
    if (this.#isStopped) return
    const { clock, counters, logger } = this.#sharing
    const { id: webhookId, organizationId } = this.#webhook
    this.#isStopped = true
    this.#reader?.close()
    this.#cancelTimer()
    counters.pauses += 1
    this.log.add(noticeOf('paused', { atMs: clock.now(), events: 0, code, reason }))
    logger.warn({ webhookId, organizationId, code }, 'webhook.paused')
    this.#markPaused(code, reason)
  }

  #markPaused(code: WebhookPauseCode, reason: string): void {
    this.#sharing.registry.pause(this.#webhook, { code, reason }).catch((error: unknown) => {
      this.#sharing.logger.error({ webhookId: this.#webhook.id, error }, 'webhook.pause_not_stored')
      this.#cancelTimer = this.#sharing.clock.after(PAUSE_AGAIN_MS, () => this.#markPaused(code, reason))
    })
  }
}

/** The record, unless the webhook has begun anew since. */
function recordFor({ generation }: Webhook, record: HookRecord | undefined): HookRecord {
  if (record?.generation === generation) return record
  return { generation, places: {}, missedAtMost: 0 }
}
