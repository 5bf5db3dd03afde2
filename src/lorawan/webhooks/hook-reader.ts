/**
 * Reads the events of one webhook: from its places in the log up to the tail, and from there on as
 * they arrive. Nothing is read beyond the room that the webhook's queue has.
 */
import type { ReadResult, ScanResult } from '../../broker/ports/engine.ts'
import type { Message } from '../../broker/ports/message.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Webhook } from '../../webhook-settings.ts'
import { applicationPrefix, parseTopic } from '../topics.ts'
import type { AnyEventKind } from '../topics.ts'
import type { ArrivalReader } from './arrival-index.ts'
import { HookBranch } from './hook-branch.ts'
import type { HookSharing } from './hook-ports.ts'
import type { HookQueue } from './hook-queue.ts'

/** The place of a webhook in each application: the offset up to which everything is done. */
export type HookPlaces = Readonly<Record<string, number>>

export interface HookReaderOptions {
  readonly webhook: Webhook
  readonly queue: HookQueue
  readonly places: HookPlaces
  /** Called when events were added to the queue. Must not throw. */
  readonly onAdded: () => void
  /** Called when the log has lost events of the webhook: at most so many. Must not throw. */
  readonly onMissed: (events: number) => void
}

/** Messages of one read. */
const MAXIMUM_MESSAGES = 128
/** The size of an event, as long as none was read. */
const USUAL_BYTES = 2_048
/** A read that the disk failed is made again after this time. */
const AFTER_FAILURE_MS = 5_000
/** After so much time without a read, retention may have taken what comes next. */
const GAP_AFTER_MS = 60_000

export class HookReader implements ArrivalReader {
  readonly #sharing: HookSharing
  readonly #options: HookReaderOptions
  readonly #branches = new Map<string, HookBranch>()
  readonly #kinds: ReadonlySet<string> | undefined
  readonly #devEuis: ReadonlySet<string> | undefined
  /** False: the places of some applications are still those from before. */
  #isComplete = false
  #isReading = false
  #isClosed = false
  #readAtMs: SteadyMs
  #meanBytes = USUAL_BYTES
  #cancelRetry: () => void = () => {}

  constructor(sharing: HookSharing, options: HookReaderOptions) {
    this.#sharing = sharing
    this.#options = options
    const { eventKinds, devEuis } = options.webhook
    this.#kinds = eventKinds && new Set(eventKinds)
    this.#devEuis = devEuis && new Set(devEuis)
    this.#readAtMs = sharing.clock.steady()
  }

  /** How far everything is done, by application. */
  places(): HookPlaces {
    const { log } = this.#sharing
    const known = [...this.#branches.values()].map((branch): readonly [string, number] => [
      branch.applicationId,
      // Nothing of the application is before the tail, and not done.
      branch.isIdle ? Math.max(branch.doneTo, log.tail(branch.partition) - 1) : branch.doneTo,
    ])
    return { ...(this.#isComplete ? {} : this.#options.places), ...Object.fromEntries(known) }
  }

  /** True: the queue has everything that the webhook is to send. */
  get isAtTail(): boolean {
    return this.#branches.values().every(({ isLive }) => isLive)
  }

  /** Reads exactly these applications from here on. Rejects when the registry can't be read. */
  async follow(applicationIds: Iterable<string>): Promise<void> {
    const wanted = new Set(applicationIds)
    const { arrivals, registry } = this.#sharing
    for (const id of this.#branches.keys()) {
      if (wanted.has(id)) continue
      this.#branches.delete(id)
      arrivals.remove(id, this)
    }
    for (const id of wanted) {
      if (this.#branches.has(id)) continue
      const createdAtMs = await registry.applicationCreatedAtMs(id)
      if (createdAtMs === undefined || this.#isClosed) continue
      this.#branches.set(id, this.#branchOf(id, createdAtMs))
      arrivals.add(id, this)
    }
    this.#isComplete = true
    this.fill()
  }

  /** An event of the application has arrived in the log. */
  arrived(message: Message, applicationId: string, devEui: string, kind: AnyEventKind): void {
    const branch = this.#branches.get(applicationId)
    if (branch === undefined || message.offset <= branch.readTo) return
    branch.arrivedTo = message.offset
    if (branch.isLive && this.#options.queue.hasRoom && !branch.isFull) {
      if (this.#wants(devEui, kind)) {
        message.keep()
        this.#add(branch, message, devEui, kind)
        this.#options.onAdded()
      } else branch.readTo = message.offset
      return
    }
    branch.isLive = false
    this.fill()
  }

  /** Reads on where there is room. Call it when events of the queue are done. */
  fill(): void {
    if (this.#isReading || this.#isClosed || this.#nextBranch() === undefined) return
    this.#isReading = true
    this.#cancelRetry()
    this.#read().then(
      () => {
        this.#isReading = false
        // The state may have changed between the last look and now.
        if (this.#nextBranch() !== undefined) this.fill()
      },
      (error: unknown) => {
        this.#isReading = false
        const { id } = this.#options.webhook
        this.#sharing.logger.error({ webhookId: id, error }, 'webhook.log_not_read')
        if (!this.#isClosed) this.#cancelRetry = this.#sharing.clock.after(AFTER_FAILURE_MS, () => this.fill())
      },
    )
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry()
    for (const id of this.#branches.keys()) this.#sharing.arrivals.remove(id, this)
  }

  #branchOf(applicationId: string, createdAtMs: number): HookBranch {
    const { webhook, places } = this.#options
    const topicPrefix = applicationPrefix(applicationId)
    const partition = this.#sharing.partitionOf(topicPrefix)
    const place = Object.hasOwn(places, applicationId) ? (places[applicationId] as number) : -1
    const fromMs = Math.max(createdAtMs, place < 0 ? Math.max(webhook.startMs, webhook.reachMs) : webhook.startMs)
    const readTo = Math.min(place, this.#sharing.log.tail(partition) - 1)
    return new HookBranch({ applicationId, topicPrefix, partition, fromMs, readTo })
  }

  #nextBranch(): HookBranch | undefined {
    if (!this.#options.queue.hasRoom) return undefined
    return this.#branches.values().find((branch) => !branch.isLive && !branch.isFull)
  }

  async #read(): Promise<void> {
    const { turns } = this.#sharing
    for (let branch = this.#nextBranch(); branch !== undefined && !this.#isClosed; branch = this.#nextBranch()) {
      const at = branch
      await turns.run(this.#options.webhook.organizationId, () => this.#readPage(at))
      // The applications take turns.
      if (this.#branches.delete(at.applicationId)) this.#branches.set(at.applicationId, at)
    }
  }

  async #readPage(branch: HookBranch): Promise<void> {
    const { log, clock } = this.#sharing
    await this.#lookForGap(branch)
    const { partition, topicPrefix, fromMs, readTo } = branch
    const tail = log.tail(partition)
    const result = await log.scan({
      partition,
      topicPrefix,
      accepts: (topicName) => this.#accepts(topicName),
      fromMs,
      ...(readTo < 0 ? {} : { afterOffset: readTo }),
      direction: 'oldest first',
      maximumMessages: Math.min(MAXIMUM_MESSAGES, this.#options.queue.roomFor(this.#meanBytes)),
    })
    this.#readAtMs = clock.steady()
    if (this.#isClosed || this.#branches.get(branch.applicationId) !== branch) return
    this.#takeAll(branch, result)
    if (result.more) branch.readTo = Math.max(branch.readTo, result.nextAfterOffset ?? -1)
    else {
      branch.readTo = Math.max(branch.readTo, tail - 1)
      branch.isLive = branch.readTo >= branch.arrivedTo
    }
  }

  #takeAll(branch: HookBranch, { messages }: ScanResult): void {
    let bytes = 0
    for (const message of messages) {
      const topic = parseTopic(message.topicName)
      if (topic?.kind !== 'event' || message.offset <= branch.readTo) continue
      bytes += message.payload.length
      message.keepForLong()
      this.#add(branch, message, topic.devEui, topic.eventKind)
    }
    if (messages.length === 0) return
    this.#meanBytes = bytes / messages.length
    this.#options.onAdded()
  }

  #add(branch: HookBranch, message: Message, devEui: string, kind: AnyEventKind): void {
    branch.take(message.offset)
    this.#options.queue.add({ message, devEui, kind, branch, addedAtMs: this.#sharing.clock.steady() })
  }

  /** Retention may have taken events that were not read yet: nobody loses events unheard. */
  async #lookForGap(branch: HookBranch): Promise<void> {
    const { log, clock, tenantOf } = this.#sharing
    if (!branch.mayHaveGap && clock.steady() - this.#readAtMs < GAP_AFTER_MS) return
    branch.mayHaveGap = false
    const from = branch.readTo + 1
    if (branch.readTo < 0 || from >= log.tail(branch.partition)) return
    const result = await log.read(branch.partition, from, 1)
    const missed = lostFor(tenantOf(this.#options.webhook.organizationId), result)
    if (missed > 0) this.#options.onMissed(missed)
  }

  #accepts(topicName: string): boolean {
    const topic = parseTopic(topicName)
    return topic?.kind === 'event' && this.#wants(topic.devEui, topic.eventKind)
  }

  #wants(devEui: string, kind: AnyEventKind): boolean {
    return (this.#kinds?.has(kind) ?? true) && (this.#devEuis?.has(devEui) ?? true)
  }
}

/** The most messages that are gone: by age and size, or beyond the organization's own bound. */
function lostFor(tenant: string, { lost, removed }: ReadResult): number {
  return lost + (removed?.get(tenant) ?? 0) + (removed?.get('') ?? 0)
}
