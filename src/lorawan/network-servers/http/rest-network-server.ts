/** A network server whose events come as webhooks, and that takes downlinks by its HTTP API. */
import type { Clock } from '../../../clock.ts'
import { objectOf, textAt } from '../../../json.ts'
import type { Downlink, EventSink, HandOverAnswer, NetworkServer } from '../../commands/network-server.ts'
import type { BackoffSettings } from '../adapter/backoff.ts'
import { counted } from '../adapter/counters.ts'
import type { NetworkServerCounters } from '../adapter/counters.ts'
import type { HttpAnswer, HttpClient } from './http-request.ts'
import type { Logger } from '../../../logger.ts'
import { Offering } from '../adapter/offering.ts'
import { Patience } from '../adapter/patience.ts'

/** The form of a network server's requests. */
export interface RestForm {
  /** The path below the base URL, and the body, of the request that enqueues a downlink. */
  enqueue(
    downlink: Downlink,
  ): { readonly path: string; readonly body: unknown } | Promise<{ path: string; body: unknown }>
  /** The path whose DELETE empties a device's queue; absent when the API has none. */
  readonly flushPath?: (devEui: string) => string
  /**
   * True when its events tell commands apart by frame counters alone: then it gets one downlink of
   * a device at a time.
   */
  readonly namesNoCommand?: boolean
}

export interface RestParts {
  readonly sink: EventSink
  readonly serves: (applicationId: string) => boolean
  readonly client: HttpClient
  readonly form: RestForm
  readonly clock: Pick<Clock, 'steady' | 'after'>
  readonly backoff: BackoffSettings
  readonly counters: NetworkServerCounters
  readonly log: Logger
}

/**
 * How long internal errors of the network server are not taken for the downlink's fault. Outages of
 * its database last minutes.
 */
const PATIENT_MS = 600_000

/** Statuses that come from the moment or from the settings, not from the downlink. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])

export class RestNetworkServer implements NetworkServer {
  readonly name: string
  readonly judges = true
  readonly flush?: (devEui: string) => Promise<readonly string[]>
  readonly #parts: RestParts
  readonly #offering: Offering
  readonly #patience = new Patience(PATIENT_MS)
  #isClosed = false

  constructor(name: string, parts: RestParts) {
    this.name = name
    this.#parts = parts
    this.#offering = new Offering(this, parts.sink, parts.clock, parts.backoff)
    const { flushPath } = parts.form
    if (flushPath !== undefined) this.flush = (devEui) => this.#flush(flushPath(devEui))
  }

  serves(applicationId: string): boolean {
    return this.#parts.serves(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    const answer = await this.#offer(downlink)
    if (answer.outcome === 'away') this.#offering.failed()
    else this.#offering.succeeded()
    return counted(this.#parts.counters, answer)
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#offering.close()
    this.#parts.client.close()
    return Promise.resolve()
  }

  async #offer(downlink: Downlink): Promise<HandOverAnswer> {
    if (this.#isClosed) return { outcome: 'away', reason: 'the service is shutting down' }
    let answer: HttpAnswer
    try {
      const { path, body } = await this.#parts.form.enqueue(downlink)
      answer = await this.#parts.client.send('POST', path, body)
    } catch (error) {
      this.#parts.counters.failures += 1
      const reason = error instanceof Error ? error.message : 'no answer'
      this.#parts.log.warn({ networkServer: this.name, reason }, 'network_server.away')
      return { outcome: 'away', reason }
    }
    const { status } = answer
    // 501 to 504 come from a proxy in front of the network server, or before it has looked at the
    // downlink.
    const { devEui, id } = downlink
    const isInternal = status === 500 && !isThereAlready(answer)
    if (!isInternal) this.#patience.reset(devEui)
    else if (this.#patience.isOver(devEui, id, this.#parts.clock.steady())) {
      return { outcome: 'refused', reason: sentenceOf(answer) }
    }
    const said = handOverOf(answer)
    return said.outcome === 'taken' && this.#parts.form.namesNoCommand === true ? { ...said, holdsNext: true } : said
  }

  async #flush(path: string): Promise<readonly string[]> {
    const answer = await this.#parts.client.send('DELETE', path)
    if (answer.status >= 300) throw new Error(`the network server answered ${sentenceOf(answer)}`)
    // The API does not tell which downlinks it has forgotten.
    return []
  }
}

/** The meaning of the answer to an enqueued downlink. */
function handOverOf(answer: HttpAnswer): HandOverAnswer {
  const { status } = answer
  if (status >= 200 && status < 300) return { outcome: 'taken' }
  if (isThereAlready(answer)) return { outcome: 'taken' }
  const isAway = status < 400 || status >= 500 || PASSING.has(status)
  return { outcome: isAway ? 'away' : 'refused', reason: sentenceOf(answer) }
}

/**
 * True when an earlier attempt has succeeded and its answer was lost: ChirpStack keeps queue items
 * by the id in the request, and its database complains about the duplicate.
 */
function isThereAlready({ status, text }: HttpAnswer): boolean {
  return status >= 400 && /duplicate key|already exists/i.test(text)
}

/** The status, and the network server's own message if it has one: on one line, and short. */
function sentenceOf({ status, text }: HttpAnswer): string {
  const message = messageIn(text)
  return message === undefined ? String(status) : `${status} ${message.replaceAll(/[^ -~]/g, ' ').slice(0, 300)}`
}

function messageIn(text: string): string | undefined {
  try {
    return textAt(objectOf(JSON.parse(text)), 'message')
  } catch {
    return undefined
  }
}
