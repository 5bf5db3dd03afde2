/**
 * The scenarios without messages: connections as fast as possible, and connections that do nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuNanoseconds, residentBytes } from '../process-accounting.ts'
import { Connector, openMany } from './connection.ts'
import type { Connection, ConnectionOptions } from './connection.ts'
import type { IdleClient, IdleJob, IdleResult, StormJob, StormResult, Target } from './job.ts'

const CONNECTING_AT_ONCE = 64

/**
 * The broker's CPU time from the first connection attempt to the last CONNACK. Throws if a
 * connection fails.
 */
export async function runStorm(target: Target, job: StormJob): Promise<StormResult> {
  const { connections, warmUpConnections, concurrency, clients } = job
  const opener = new Opener(target, clients)
  try {
    await opener.open(warmUpConnections, concurrency, undefined)
    const ticket = job.resumed ? opener.ticket() : undefined
    const startedAtMs = performance.now()
    const cpuBefore = cpuNanoseconds(target.pid)
    const opened = await opener.open(connections, concurrency, ticket)
    const brokerCpuNs = cpuNanoseconds(target.pid) - cpuBefore
    const seconds = (performance.now() - startedAtMs) / 1000
    opener.judge()
    const resumed = opened.filter(({ socket }) => socket.isSessionReused()).length
    return { kind: 'storm', seconds, connections, resumed, brokerCpuNs }
  } finally {
    opener.close()
  }
}

/**
 * The growth of the broker's resident memory by connections that send nothing after CONNECT, or
 * after SUBSCRIBE where they have Topic Filters. Throws if one fails.
 */
export async function runIdle(target: Target, job: IdleJob): Promise<IdleResult> {
  const { connections, firstConnections, settleMs, clients } = job
  const opener = new Opener(target, clients)
  try {
    await opener.open(firstConnections, CONNECTING_AT_ONCE, undefined)
    await sleep(settleMs)
    const before = residentBytes(target.pid)
    await opener.open(connections - firstConnections, CONNECTING_AT_ONCE, undefined)
    await sleep(settleMs)
    const after = residentBytes(target.pid)
    opener.judge()
    const bytesPerConnection = (after - before) / (connections - firstConnections)
    return { kind: 'idle', bytesPerConnection, connections }
  } finally {
    opener.close()
  }
}

/** Opens connections that stay open until `close`, and remembers the failed ones. */
class Opener {
  readonly #connector: Connector
  readonly #clients: readonly IdleClient[]
  readonly #connections: Connection[] = []
  readonly #failures = new Map<string, number>()
  #opened = 0
  #ticket: Buffer | undefined = undefined

  constructor(target: Target, clients: readonly IdleClient[]) {
    this.#connector = new Connector(target)
    this.#clients = clients
  }

  async open(count: number, concurrency: number, session: Buffer | undefined): Promise<readonly Connection[]> {
    const connections = await openMany(count, concurrency, () => this.#openOne(session))
    this.#connections.push(...connections)
    return connections
  }

  async #openOne(session: Buffer | undefined): Promise<Connection> {
    const client = this.#clients[this.#opened % this.#clients.length] as IdleClient
    this.#opened += 1
    const connection = await this.#connector.open(this.#optionsOf(client, session))
    if (client.topicFilters !== undefined) await connection.subscribe(client.topicFilters, 1)
    return connection
  }

  /** The last ticket that the broker gave. Throws if it gave none. */
  ticket(): Buffer {
    if (this.#ticket === undefined) throw new Error('the broker gave no session ticket')
    return this.#ticket
  }

  /** Throws if a connection was lost meanwhile. */
  judge(): void {
    if (this.#failures.size === 0) return
    throw new Error([...this.#failures].map(([reason, count]) => `${reason}: ${count}`).join(', '))
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  #optionsOf({ credentials }: IdleClient, session: Buffer | undefined): ConnectionOptions {
    return {
      clientId: `client-${this.#opened}`,
      credentials,
      session,
      onSession: (ticket) => {
        this.#ticket = ticket
      },
      handlers: {
        publish: () => this.#failed('PUBLISH at one that asked for none'),
        acknowledged: () => this.#failed('PUBACK at one that published nothing'),
        failed: (reason) => this.#failed(reason),
      },
    }
  }

  #failed(reason: string): void {
    this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1)
  }
}
