/**
 * The bus between the nodes over NATS, without storage. A node hears requests on a subject of its
 * own. One inbox takes the answers to all requests of the process.
 */
import assert from 'node:assert'
import { createInbox, headers } from '@nats-io/transport-node'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../clock.ts'
import { NoAnswerError, RequestRefusedError } from '../nodes.ts'
import type { Bus, Gathered, NodeId, RequestHandler } from '../nodes.ts'

const MAXIMUM_BODY_BYTES = 900_000
/** Requests of this node that wait for an answer; a further one is refused. */
const MAXIMUM_ASKED = 4_096
/** Requests of others that this node works on; a further one is refused. */
const MAXIMUM_SERVED = 4_096
const NO_RESPONDERS = 503
const FROM = 'Fieldgate-From'
const REFUSED = 'Fieldgate-Refused'
const KIND = /^[a-z0-9.-]{1,100}$/

export interface NatsBusOptions {
  readonly connection: NatsConnection
  readonly clock: Clock
  readonly self: NodeId
  /** Begins all subjects. */
  readonly prefix: string
  /** The nodes that `gather` asks; this one may be among them. */
  readonly living: () => readonly NodeId[]
}

interface Asked {
  readonly to: NodeId
  readonly kind: string
  readonly resolve: (body: Buffer) => void
  readonly reject: (error: Error) => void
}

export class NatsBus implements Bus {
  readonly self: NodeId
  readonly #options: NatsBusOptions
  readonly #inbox = createInbox()
  readonly #asked = new Map<string, Asked>()
  readonly #handlers = new Map<string, RequestHandler>()
  readonly #listeners = new Map<string, (body: Buffer, from: NodeId) => void>()
  #lastToken = 0
  #served = 0

  constructor(options: NatsBusOptions) {
    this.#options = options
    this.self = options.self
    const { connection, prefix, self } = options
    const heard = `${prefix}.bus.${self.incarnation}.`
    const told = `${prefix}.cast.`
    subscribe(connection, `${this.#inbox}.*`, (message) => this.#answered(message))
    subscribe(connection, `${heard}>`, (message) => void this.#requested(message, message.subject.slice(heard.length)))
    subscribe(connection, `${told}>`, (message) => this.#told(message, message.subject.slice(told.length)))
  }

  async request(to: NodeId, kind: string, body: Buffer, timeoutMs: number): Promise<Buffer> {
    check(kind, body)
    if (to.incarnation === this.self.incarnation) return await this.#requestSelf(kind, body, timeoutMs)
    if (this.#asked.size >= MAXIMUM_ASKED) {
      throw new RequestRefusedError(to, kind, 'Too many requests of this node are under way.')
    }
    this.#lastToken += 1
    const token = `${this.#inbox}.${this.#lastToken}`
    const { clock, connection, prefix } = this.#options
    return await new Promise<Buffer>((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () => this.#settle(token)?.reject(new NoAnswerError(to, kind)))
      this.#asked.set(token, {
        to,
        kind,
        resolve: (answer) => {
          cancel()
          resolve(answer)
        },
        reject: (error) => {
          cancel()
          reject(error)
        },
      })
      try {
        const subject = `${prefix}.bus.${to.incarnation}.${kind}`
        connection.publish(subject, body, { reply: token, headers: this.#head() })
      } catch {
        // The connection is closed.
        this.#settle(token)?.reject(new NoAnswerError(to, kind))
      }
    })
  }

  async gather(kind: string, body: Buffer, timeoutMs: number): Promise<Gathered> {
    const others = this.#options.living().filter(({ incarnation }) => incarnation !== this.self.incarnation)
    const answers: { from: NodeId; body: Buffer }[] = []
    const missing: NodeId[] = []
    const ask = async ({ name, incarnation }: NodeId): Promise<void> => {
      const from = { name, incarnation }
      try {
        answers.push({ from, body: await this.request(from, kind, body, timeoutMs) })
      } catch {
        missing.push(from)
      }
    }
    await Promise.all(others.map(ask))
    return { answers, missing }
  }

  serve(kind: string, handler: RequestHandler): void {
    assert(!this.#handlers.has(kind), `“${kind}” has one handler`)
    this.#handlers.set(kind, handler)
  }

  cast(kind: string, body: Buffer): void {
    check(kind, body)
    const { connection, prefix } = this.#options
    // A closed connection tells nobody: a message may get lost.
    if (!connection.isClosed()) connection.publish(`${prefix}.cast.${kind}`, body, { headers: this.#head() })
  }

  hear(kind: string, listener: (body: Buffer, from: NodeId) => void): void {
    assert(!this.#listeners.has(kind), `“${kind}” has one listener`)
    this.#listeners.set(kind, listener)
  }

  /** The node is gone: its requests have no answer. */
  gone(incarnation: string): void {
    for (const [token, { to, kind }] of this.#asked) {
      if (to.incarnation === incarnation) this.#settle(token)?.reject(new NoAnswerError(to, kind))
    }
  }

  async #requestSelf(kind: string, body: Buffer, timeoutMs: number): Promise<Buffer> {
    const { promise, reject } = Promise.withResolvers<Buffer>()
    const cancel = this.#options.clock.after(timeoutMs, () => reject(new NoAnswerError(this.self, kind)))
    try {
      return await Promise.race([promise, this.#handle(kind, Buffer.from(body), this.self)])
    } catch (error) {
      if (error instanceof NoAnswerError) throw error
      throw new RequestRefusedError(this.self, kind, reasonOf(error))
    } finally {
      cancel()
    }
  }

  async #handle(kind: string, body: Buffer, from: NodeId): Promise<Buffer> {
    const handler = this.#handlers.get(kind)
    if (handler === undefined) throw new Error(`The node has no handler for “${kind}”.`)
    if (this.#served >= MAXIMUM_SERVED) throw new Error('The node works on too many requests.')
    this.#served += 1
    try {
      const answer = await handler(body, from)
      if (answer.length > MAXIMUM_BODY_BYTES) throw new Error(`The answer has ${answer.length} bytes.`)
      return answer
    } finally {
      this.#served -= 1
    }
  }

  async #requested(message: Msg, kind: string): Promise<void> {
    const from = fromOf(message)
    if (from === undefined || message.reply === undefined) return
    const head = this.#head()
    let answer: Buffer
    try {
      answer = await this.#handle(kind, bytesOf(message), from)
    } catch (error) {
      head.set(REFUSED, '1')
      answer = Buffer.from(reasonOf(error).slice(0, 1_000))
    }
    const { connection } = this.#options
    if (!connection.isClosed()) connection.publish(message.reply, answer, { headers: head })
  }

  #answered(message: Msg): void {
    const asked = this.#settle(message.subject)
    if (asked === undefined) return
    if (message.headers?.code === NO_RESPONDERS) asked.reject(new NoAnswerError(asked.to, asked.kind))
    else if (message.headers?.has(REFUSED) === true) {
      asked.reject(new RequestRefusedError(asked.to, asked.kind, message.string()))
    } else asked.resolve(bytesOf(message))
  }

  #told(message: Msg, kind: string): void {
    const from = fromOf(message)
    if (from === undefined || from.incarnation === this.self.incarnation) return
    this.#listeners.get(kind)?.(bytesOf(message), from)
  }

  #settle(token: string): Asked | undefined {
    const asked = this.#asked.get(token)
    this.#asked.delete(token)
    return asked
  }

  #head(): ReturnType<typeof headers> {
    const head = headers()
    head.set(FROM, `${this.self.incarnation} ${this.self.name}`)
    return head
  }
}

function subscribe(connection: NatsConnection, subject: string, take: (message: Msg) => void): void {
  connection.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) take(message)
    },
  })
}

function check(kind: string, body: Buffer): void {
  assert(KIND.test(kind), `“${kind}” is no kind of a message`)
  assert(body.length <= MAXIMUM_BODY_BYTES, `a message of the bus has ${body.length} bytes`)
}

function fromOf({ headers: head }: Msg): NodeId | undefined {
  const [incarnation, name] = head?.get(FROM).split(' ') ?? []
  return incarnation === undefined || name === undefined ? undefined : { name, incarnation }
}

function bytesOf({ data }: Msg): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
