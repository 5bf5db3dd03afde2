/**
 * All webhooks of the deployment: it runs those that are to run at this node, hands them the events
 * that arrive, and keeps where they have come.
 */
import { randomUUID } from 'node:crypto'
import type { Message } from '../../broker/ports/message.ts'
import type { Webhook } from '../../webhook-settings.ts'
import type { LoadedState } from '../commands/durable-state.ts'
import { ArrivalIndex } from './arrival-index.ts'
import type { DeliveryEntry } from './delivery-log.ts'
import { createWebhookCounters } from './hook-ports.ts'
import type { HookSharing, WebhookCounters, WebhookPorts } from './hook-ports.ts'
import { HOOK_PREFIX, hookIdOf, hookKeyOf, readHookRecord, writeHookRecord } from './hook-record.ts'
import type { HookRecord } from './hook-record.ts'
import { entryOf, postSigned } from './hook-sender.ts'
import { judgeOutcome } from './judge-outcome.ts'
import { ReadTurns } from './read-turns.ts'
import { WebhookRunner } from './webhook-runner.ts'
import type { WebhookStanding } from './webhook-runner.ts'

/** Tells the webhooks that this node runs, in a deployment of several nodes. */
export interface WebhookHomes {
  /** The webhooks among these that this node runs. It becomes the home of those without one. */
  here(webhookIds: readonly string[]): Promise<ReadonlySet<string>>
  /** The webhook is over. */
  release(webhookId: string): void
}

/** A running webhook, for people. */
export interface WebhookView {
  readonly standing: WebhookStanding
  /** The newest first. */
  readonly deliveries: readonly DeliveryEntry[]
}

/** All places are written at least so often, so that a restart has little to read. */
const WRITE_ALL_MS = 60_000
/** Requests under way get this time at the end of the service. */
const PATIENCE_MS = 2_000

export class Webhooks {
  readonly counters: WebhookCounters = createWebhookCounters()
  readonly #sharing: HookSharing
  readonly #homes: WebhookHomes | undefined
  /** By id: all webhooks of the deployment, whoever runs them. */
  readonly #known = new Map<string, Webhook>()
  readonly #running = new Map<string, WebhookRunner>()
  /** Webhooks that wait for their last requests, for some seconds at most. */
  readonly #stopping = new Map<string, Promise<void>>()
  /** Records of earlier processes, by webhook. */
  readonly #records = new Map<string, HookRecord>()
  /** Organizations with a test under way. */
  readonly #testing = new Set<string>()
  #settling: Promise<void> = Promise.resolve()
  #isOpen = false
  #writtenAllAtMs: number

  /** `homes`: undefined in a deployment of one node, which runs all webhooks. */
  constructor(ports: WebhookPorts, homes: WebhookHomes | undefined) {
    this.#sharing = { ...ports, turns: new ReadTurns(), arrivals: new ArrivalIndex(), counters: this.counters }
    this.#homes = homes
    this.#writtenAllAtMs = ports.clock.steady()
  }

  /** The number of webhooks that this node runs, and of those among them that are paused. */
  numbers(): { readonly running: number; readonly failing: number; readonly paused: number } {
    const states = [...this.#running.values()].map(({ standing }) => standing.state)
    const count = (wanted: string): number => states.filter((state) => state === wanted).length
    return { running: count('running'), failing: count('failing'), paused: count('paused') }
  }

  /** Takes records of an earlier process, or of a dead node. */
  async load(entries: LoadedState): Promise<void> {
    for await (const { key, value } of entries(HOOK_PREFIX)) {
      const record = readHookRecord(value)
      if (record === undefined) this.#sharing.logger.error({ key }, 'webhook.unreadable')
      else if (!this.#running.has(hookIdOf(key))) this.#records.set(hookIdOf(key), record)
    }
  }

  /** Begins to run the webhooks. Rejects when the registry can't be read. */
  async open(): Promise<void> {
    for (const webhook of await this.#sharing.registry.all()) this.#known.set(webhook.id, webhook)
    this.#isOpen = true
    await this.settle()
    // Webhooks that were removed while nobody ran them.
    for (const id of this.#records.keys()) if (!this.#known.has(id)) void this.#forget(id)
  }

  /** A webhook was created, changed or removed. */
  changed(webhookId: string): Promise<void> {
    return this.#inOrder(async () => {
      const webhook = await this.#sharing.registry.find(webhookId)
      if (webhook === undefined) this.#known.delete(webhookId)
      else this.#known.set(webhookId, webhook)
      // A runner waits for its own requests: no other webhook waits for it.
      if (webhook !== undefined) void this.#running.get(webhookId)?.update(webhook)
      await this.#runWanted()
    })
  }

  /** Changes may have been missed: everything is looked up again. */
  resynchronize(): Promise<void> {
    return this.#inOrder(async () => {
      const found = new Map((await this.#sharing.registry.all()).map((webhook) => [webhook.id, webhook]))
      for (const id of this.#known.keys()) if (!found.has(id)) this.#known.delete(id)
      for (const [id, webhook] of found) this.#known.set(id, webhook)
      for (const runner of this.#running.values()) {
        const webhook = found.get(runner.webhook.id)
        if (webhook !== undefined) void runner.update(webhook)
      }
      await this.#runWanted()
    })
  }

  /** The applications of an organization have changed. */
  applicationsChanged(organizationId: string): Promise<void> {
    if (!this.#known.values().some((webhook) => webhook.organizationId === organizationId)) return Promise.resolve()
    return this.#inOrder(async () => {
      for (const runner of this.#running.values()) {
        if (runner.webhook.organizationId === organizationId) void runner.applicationsChanged()
      }
    })
  }

  /** Looks again which webhooks this node runs. */
  settle(): Promise<void> {
    return this.#inOrder(() => this.#runWanted())
  }

  /** A message has arrived in the log. Called for each one, so it is cheap. */
  arrived(message: Message): void {
    this.#sharing.arrivals.arrived(message)
  }

  /** The webhook as it runs at this node; undefined: another node runs it, or none. */
  view(webhookId: string): WebhookView | undefined {
    const runner = this.#running.get(webhookId)
    return runner && { standing: runner.standing, deliveries: runner.log.list() }
  }

  /**
   * Sends a sample event now, whatever the state of the webhook is. Undefined: another test of the
   * organization is under way.
   */
  async test(webhook: Webhook): Promise<DeliveryEntry | undefined> {
    if (this.#testing.has(webhook.organizationId)) return undefined
    this.#testing.add(webhook.organizationId)
    const { clock } = this.#sharing
    const client = this.#sharing.createClient()
    try {
      const [atMs, startedAt] = [clock.now(), clock.steady()]
      const id = `test-${randomUUID()}`
      const outcome = await postSigned(client, webhook, { id, body: sampleBody(webhook, id, atMs), atMs })
      const sample = { webhookId: id, events: [{ devEui: SAMPLE_DEV_EUI, kind: 'up' as const }], tries: 1, atMs }
      const judged = entryOf(sample, outcome, judgeOutcome(outcome))
      const entry = { ...judged, durationMs: clock.steady() - startedAt, command: undefined }
      this.#running.get(webhook.id)?.log.add({ ...entry, outcome: 'test' })
      return entry
    } finally {
      this.#testing.delete(webhook.organizationId)
      client.close()
    }
  }

  /** Writes what has changed. The owner calls it about once a second. */
  tick(): void {
    const now = this.#sharing.clock.steady()
    const writesAll = now - this.#writtenAllAtMs >= WRITE_ALL_MS
    if (writesAll) this.#writtenAllAtMs = now
    for (const runner of this.#running.values()) if (runner.takeDirty() || writesAll) void this.#write(runner)
  }

  /** Stops all webhooks, and writes where they have come. */
  async close(): Promise<void> {
    this.#isOpen = false
    await this.#settling
    for (const runner of this.#running.values()) this.#stop(runner)
    await Promise.all(this.#stopping.values())
  }

  /** One change after the other. A failure is logged; the next change or look repeats it. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#settling = this.#settling
      .then(() => (this.#isOpen ? work() : undefined))
      .catch((error: unknown) => this.#sharing.logger.error({ error }, 'webhooks.not_followed'))
    return this.#settling
  }

  async #runWanted(): Promise<void> {
    const ids = [...this.#known.keys()]
    const here = this.#homes === undefined ? new Set(ids) : await this.#homes.here(ids)
    for (const [id, runner] of this.#running) if (!here.has(id)) this.#stop(runner)
    for (const id of here) {
      const webhook = this.#known.get(id)
      // A webhook that stops here is looked at again when it has stopped.
      if (webhook === undefined || this.#running.has(id) || this.#stopping.has(id)) continue
      const runner = new WebhookRunner(this.#sharing, webhook, this.#records.get(id))
      this.#records.delete(id)
      this.#running.set(id, runner)
      // The place of a new webhook is stored before anything can change it.
      void runner.start().then(() => this.#write(runner))
    }
  }

  /** Stops the webhook. Nobody waits for it but the end of the service. */
  #stop(runner: WebhookRunner): void {
    const { id } = runner.webhook
    this.#running.delete(id)
    const stop = async (): Promise<void> => {
      await runner.close(PATIENCE_MS)
      if (this.#known.has(id)) {
        await this.#write(runner)
        this.#records.set(id, runner.record())
      } else await this.#forget(id)
      this.#stopping.delete(id)
      if (this.#isOpen) void this.settle()
    }
    this.#stopping.set(id, stop())
  }

  async #forget(webhookId: string): Promise<void> {
    this.#records.delete(webhookId)
    this.#homes?.release(webhookId)
    await this.#sharing.state.write([{ key: hookKeyOf(webhookId), value: undefined }]).catch((error: unknown) => {
      this.#sharing.logger.error({ webhookId, error }, 'webhook.record_not_written')
    })
  }

  async #write(runner: WebhookRunner): Promise<void> {
    const { id, organizationId } = runner.webhook
    try {
      const change = { key: hookKeyOf(id), value: writeHookRecord(runner.record()) }
      await this.#sharing.state.write([change], organizationId)
    } catch (error) {
      runner.markDirty()
      this.#sharing.logger.error({ webhookId: id, error }, 'webhook.record_not_written')
    }
  }
}

/** A DevEUI that no device has. */
const SAMPLE_DEV_EUI = '0000000000000000'

/** The body of a test: an uplink as ChirpStack writes it, with the same members around it. */
function sampleBody({ batch, organizationId, applicationIds = ['0'] }: Webhook, id: string, atMs: number): string {
  const timestamp = new Date(atMs).toISOString()
  const [applicationId] = applicationIds
  const deviceInfo = { applicationId, deviceName: 'sample', devEui: SAMPLE_DEV_EUI, tags: {} }
  const data = { time: timestamp, deviceInfo, fCnt: 1, fPort: 1, data: 'AQID', object: { sample: true } }
  const event = { type: 'up', id, timestamp, organizationId, applicationId, devEui: SAMPLE_DEV_EUI, data }
  return JSON.stringify(batch === undefined ? event : [event])
}
