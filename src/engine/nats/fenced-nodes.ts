/**
 * Other nodes of the deployment that are gone: keeps the servers from storing anything more of
 * them, and reads and removes what they left.
 */
import assert from 'node:assert'
import { randomBytes } from 'node:crypto'
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import type { StateEntry } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import { writeEnvelope } from './envelope.ts'
import type { NatsLink } from './nats-link.ts'
import { NatsState } from './nats-state.ts'
import { namesOf } from './nats-streams.ts'
import type { NodeStreams } from './nats-streams.ts'
import type { PartitionLog } from './partition-log.ts'
import { publishSurely } from './publish-surely.ts'
import { StateStream } from './state-stream.ts'

export interface FencedNodesOptions {
  readonly link: NatsLink
  readonly clock: Clock
  readonly prefix: string
  /** The partitions. */
  readonly logs: readonly PartitionLog[]
}

/** A fence: what the node wrote before these sequences is all that it ever stored. */
interface Fence {
  readonly names: NodeStreams
  /** By stream: the partitions, and behind them the journal if there is one. */
  readonly sequences: readonly number[]
  readonly stored: StateStream
}

export class FencedNodes {
  readonly #options: FencedNodesOptions
  /** By name: the nodes that were fenced, and whose state was not forgotten. */
  readonly #fences = new Map<string, Fence>()

  constructor(options: FencedNodesOptions) {
    this.#options = options
  }

  /** See `NatsEngine.fence`. */
  async fence(node: string): Promise<void> {
    const { link, clock, prefix, logs } = this.#options
    const names = namesOf({ prefix, node, partitions: logs.length })
    const incarnation = randomBytes(8).toString('hex')
    const write = async (stream: number): Promise<number> => {
      const { subject } = names.envelopes[stream] as NodeStreams['envelopes'][number]
      const { total = 0, tail = 0 } = logs[stream] ?? {}
      const bytes = writeEnvelope({ incarnation, number: 0, messagesBefore: total, tail }, [], 0)
      return await publishSurely({ link, clock, subject, bytes, id: `${subject} ${incarnation} 0` })
    }
    const stored = new StateStream({ link, clock, stream: names.state, subject: names.stateSubject, incarnation })
    // The journal comes first, for retention never takes its fence; see `StreamWriter`.
    const ofJournal = (await this.#hasJournal(names)) ? [await write(logs.length)] : []
    const [ofLogs] = await Promise.all([Promise.all(logs.map((_, partition) => write(partition))), stored.lock()])
    this.#fences.set(node, { names, sequences: [...ofLogs, ...ofJournal], stored })
  }

  /** See `NatsEngine.stateOf`. */
  async stateOf(node: string): Promise<readonly StateEntry[]> {
    const { link, clock } = this.#options
    const { names, sequences, stored } = this.#of(node)
    const state = new NatsState(stored)
    const streams = names.envelopes.slice(0, sequences.length)
    await state.recover({ link, clock, streams, upTo: sequences })
    return [...state.entries('')]
  }

  /** See `NatsEngine.forgetStateOf`. */
  async forgetStateOf(node: string): Promise<void> {
    const { link, logs } = this.#options
    const { names, sequences, stored } = this.#of(node)
    await stored.removeAll()
    const [journal, seq] = [names.envelopes.at(-1), sequences[logs.length]]
    // The fence stays.
    if (journal !== undefined && seq !== undefined) await link.manager.streams.purge(journal.name, { seq })
    this.#fences.delete(node)
  }

  #of(node: string): Fence {
    const fence = this.#fences.get(node)
    assert(fence !== undefined, 'the node is fenced')
    return fence
  }

  async #hasJournal({ envelopes }: NodeStreams): Promise<boolean> {
    try {
      await this.#options.link.manager.streams.info(envelopes.at(-1)?.name ?? '')
      return true
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return false
      throw error
    }
  }
}
