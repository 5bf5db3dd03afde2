/**
 * The load of a cluster, and its account: publishers of QoS 1 and 2, readers whose Sessions are
 * kept, a reader that roams, a shared subscription, and commands, on all nodes.
 */
import type { Account } from './account.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { ClusterPublisher } from './cluster-publisher.ts'
import type { CommandAccount } from './command-account.ts'
import { createLoadClients } from './load-clients.ts'
import type { LoadClients, LoadOptions, Traffic } from './load-clients.ts'
import type { RovingClient } from './roving-client.ts'
import { until } from './until.ts'

const ROAM_MS = 3_000
const SUBSCRIBE_MS = 30_000
/** Everything that was acknowledged must have come so long after all faults are over, ms. */
const SETTLE_MS = 60_000

export class Load {
  readonly clients: LoadClients
  readonly #all: readonly RovingClient[]
  readonly #running: Promise<void>[] = []
  readonly #broken: unknown[] = []
  #roaming: NodeJS.Timeout | undefined

  constructor(options: LoadOptions) {
    this.clients = createLoadClients(options)
    const { own, neighbour, members, senders, networkServer } = this.clients
    this.#all = [
      networkServer,
      ...own.readers,
      ...neighbour.readers,
      ...members,
      ...own.publishers,
      ...neighbour.publishers,
      ...senders,
    ]
  }

  get account(): Account {
    return this.clients.own.account
  }

  get commands(): CommandAccount {
    return this.clients.commands
  }

  get publishers(): readonly ClusterPublisher[] {
    return this.clients.own.publishers
  }

  /** All acknowledged messages, those of the neighbour included. */
  get acknowledged(): number {
    return this.account.acknowledged + this.clients.neighbour.account.acknowledged
  }

  /** Connects all clients, and publishes when all have subscribed. */
  async start(): Promise<void> {
    for (const client of this.#all) {
      this.#running.push(client.run().catch((error: unknown) => void this.#broken.push(error)))
    }
    const { own, neighbour, members, networkServer, roamer } = this.clients
    const subscribers = [...own.readers, ...neighbour.readers, ...members, networkServer]
    let isReady = false
    void Promise.all(subscribers.map((one) => one.subscribed)).then(() => (isReady = true))
    const tookMs = await until(() => isReady || this.#broken.length > 0, SUBSCRIBE_MS)
    this.check()
    if (tookMs === Infinity) throw new Error('the clients of the load could not subscribe')
    for (const one of this.#busy) one.begin()
    let place = 0
    this.#roaming = setInterval(() => roamer.goTo((place += 1)), ROAM_MS)
  }

  /** Throws if a client was refused for good. */
  check(): void {
    if (this.#broken.length > 0) throw new AggregateError(this.#broken, String(this.#broken[0]))
  }

  /** The clients that are connected to the node now. */
  at(node: ClusterNode): readonly RovingClient[] {
    return this.#all.filter((client) => client.node === node)
  }

  /** Waits until these clients have connected again since a time; ms, or Infinity. */
  async areBack(clients: readonly RovingClient[], sinceMs: number, longestMs: number): Promise<number> {
    return until(() => clients.every((one) => one.node !== undefined && one.connectedAtMs > sinceMs), longestMs)
  }

  /** Waits until so many more messages are acknowledged; ms, or Infinity. */
  async acknowledges(more: number, longestMs: number): Promise<number> {
    const wanted = this.acknowledged + more
    return until(() => this.acknowledged >= wanted, longestMs)
  }

  resetGaps(): void {
    for (const publisher of this.publishers) publisher.resetGap()
  }

  /** The longest time without an acknowledgement for one of these since `resetGaps`, ms. */
  longestGapMs(publishers: readonly ClusterPublisher[] = this.publishers): number {
    return Math.max(0, ...publishers.map(({ longestGapMs }) => longestGapMs))
  }

  /** Runs the work while nobody publishes. */
  async quietly(work: () => Promise<void>): Promise<void> {
    const busy = this.#busy
    for (const one of busy) one.cease()
    await this.settle()
    try {
      await work()
    } finally {
      for (const one of busy) one.begin()
    }
  }

  /** Sends all clients to their own nodes. */
  goHome(): void {
    for (const client of this.#all) if (client !== this.clients.roamer) client.goHome()
  }

  /**
   * Waits until all that was sent up to now has its answer, and has come to each reader. Counts as
   * lost whatever does not come.
   */
  async settle(): Promise<void> {
    const { own, neighbour, commands } = this.clients
    const owed = commands.owed
    await Promise.all([this.#settleTraffic(own), this.#settleTraffic(neighbour)])
    await until(() => !commands.areOwed(owed), SETTLE_MS)
    commands.settle(owed)
    this.check()
  }

  async #settleTraffic({ account, publishers }: Traffic): Promise<void> {
    const upTo = account.sent
    const unanswered = (): readonly ClusterPublisher[] =>
      publishers.filter(({ oldestOpen }, number) => oldestOpen < (upTo[number] as number))
    await until(() => unanswered().length === 0, SETTLE_MS)
    this.check()
    for (const { name } of unanswered()) account.faults.add('bars', `${name} gets no answer`)
    await until(() => account.missing(upTo).length === 0, SETTLE_MS)
    account.settle(upTo)
  }

  /** Ends all clients. */
  async stop(): Promise<void> {
    clearInterval(this.#roaming)
    for (const client of this.#all) client.stop()
    await Promise.all(this.#running)
  }

  get #busy(): readonly { begin(): void; cease(): void }[] {
    const { own, neighbour, senders } = this.clients
    return [...own.publishers, ...neighbour.publishers, ...senders]
  }
}
