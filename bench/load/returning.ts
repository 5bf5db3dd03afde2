/** Clients that are cut all at once and come back all at once, beside a flow of messages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connector, openMany } from './connection.ts'
import type { Connection } from './connection.ts'
import { Faults } from './faults.ts'
import { FlowBeside } from './flow-beside.ts'
import type { Client, ReturnJob, ReturnResult, Target } from './job.ts'

const CONNECTING_AT_ONCE = 64
/** The pause of a client whose attempt has failed, as client libraries have it. */
const RETRY_MS = 1_000
/** Beyond this time the clients are not expected back any more. */
const LONGEST_RETURN_MS = 90_000

/**
 * The time from the cut of all connections to their last CONNACK. Throws if a client does not come
 * back or is lost again, or if the flow beside has a fault.
 */
export async function runReturn(target: Target, job: ReturnJob): Promise<ReturnResult> {
  const { connections, clients, others } = job
  const crowd = new Crowd(target, clients)
  try {
    await crowd.connect(connections, CONNECTING_AT_ONCE)
    const flow = await FlowBeside.start(target, others)
    const startedAtMs = performance.now()
    crowd.cut()
    const failedAttempts = await crowd.connect(connections, connections)
    const seconds = (performance.now() - startedAtMs) / 1000
    const { brokerCpuNs, latency } = await flow.end()
    crowd.judge()
    return { kind: 'return', seconds, connections, failedAttempts, brokerCpuNs, latency }
  } finally {
    crowd.cut()
  }
}

/** Clients that keep their names. */
class Crowd {
  readonly #connector: Connector
  readonly #clients: readonly Client[]
  readonly #faults = new Faults()
  #connections: readonly Connection[] = []

  constructor(target: Target, clients: readonly Client[]) {
    this.#connector = new Connector(target)
    this.#clients = clients
  }

  /** Connects all clients, `concurrency` of them at a time; returns the failed attempts. */
  async connect(count: number, concurrency: number): Promise<number> {
    const giveUpAtMs = performance.now() + LONGEST_RETURN_MS
    let failedAttempts = 0
    this.#connections = await openMany(count, concurrency, async (index) => {
      for (;;) {
        try {
          return await this.#open(index)
        } catch (error) {
          if (performance.now() > giveUpAtMs) throw error
          failedAttempts += 1
          await sleep(RETRY_MS)
        }
      }
    })
    return failedAttempts
  }

  cut(): void {
    for (const connection of this.#connections) connection.close()
  }

  /** Throws if a client was lost after its CONNACK. */
  judge(): void {
    this.#faults.judge()
  }

  async #open(index: number): Promise<Connection> {
    let isConnected = false
    const connection = await this.#connector.open({
      clientId: `returning-${index}`,
      credentials: this.#clients[index % this.#clients.length]?.credentials,
      handlers: {
        publish: () => this.#faults.add('PUBLISH at one that subscribed to nothing'),
        acknowledged: () => this.#faults.add('PUBACK at one that published nothing'),
        failed: (reason) => {
          if (isConnected) this.#faults.add(`lost after CONNACK: ${reason}`)
        },
      },
    })
    isConnected = true
    return connection
  }
}
