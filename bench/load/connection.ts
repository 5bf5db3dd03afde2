/**
 * One MQTT 3.1.1 client over TLS 1.3, as lean as possible, so that the broker dominates the
 * measurement.
 */
import { connect, createSecureContext } from 'node:tls'
import type { ConnectionOptions as ConnectionSettings, SecureContext, TLSSocket } from 'node:tls'
import type { TcpNetConnectOpts } from 'node:net'
import { encodePacket } from '../../src/mqtt/encode-packet.ts'
import type { Client, JobQoS, Target } from './job.ts'

/** The cipher that every broker and client must agree on. */
const CIPHER = 'TLS_AES_256_GCM_SHA384'
/**
 * Without this, the newer OpenSSL of some brokers agrees on a hybrid with ML-KEM, which costs them
 * more and which the other brokers don't have.
 */
const KEY_EXCHANGE = 'X25519'
/** A broker that has not answered after this time is stuck. */
const ANSWER_TIMEOUT_MS = 30_000
/**
 * The number of addresses of 127.0.0.0/8 from which connections come in turn, so that a broker that
 * bounds the attempts of one address has no reason to refuse any.
 */
const SOURCE_ADDRESSES = 100

const CONNACK = 2
const PUBLISH = 3
const PUBACK = 4
const SUBACK = 9

/** Gets the packets of a connection. */
export interface ConnectionHandlers {
  /**
   * A PUBLISH: its first byte, and the position of its payload in `bytes`. The receiver may use
   * `bytes` only until it returns.
   */
  readonly publish: (firstByte: number, bytes: Buffer, payloadStart: number, payloadEnd: number) => void
  readonly acknowledged: (packetId: number) => void
  /** The connection ended unasked, or a packet came that has no place here. */
  readonly failed: (reason: string) => void
}

export interface ConnectionOptions extends Client {
  readonly clientId: string
  /** True: the Session outlives the connection, and an existing Session goes on. */
  readonly keepsSession?: boolean
  readonly handlers: ConnectionHandlers
  /** A TLS session to be resumed. */
  readonly session?: Buffer | undefined
  /** Gets each session ticket. */
  readonly onSession?: (session: Buffer) => void
}

/** Makes connections to one broker, which share the parsed certificate. */
export class Connector {
  readonly #target: Target
  readonly #context: SecureContext
  #opened = 0

  constructor(target: Target) {
    this.#target = target
    this.#context = createSecureContext({
      ca: target.certificate,
      ciphers: CIPHER,
      ecdhCurve: KEY_EXCHANGE,
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
    })
  }

  /** Resolves with CONNACK. Rejects if the broker refuses or agrees on another cipher. */
  async open(options: ConnectionOptions): Promise<Connection> {
    this.#opened += 1
    // Node passes options to the TCP socket that its own types of TLS options leave out.
    const settings: ConnectionSettings & TcpNetConnectOpts = {
      host: '127.0.0.1',
      port: this.#target.port,
      localAddress: `127.0.1.${1 + (this.#opened % SOURCE_ADDRESSES)}`,
      servername: 'localhost',
      secureContext: this.#context,
      noDelay: true,
      ...(options.session === undefined ? {} : { session: options.session }),
    }
    const socket = connect(settings)
    if (options.onSession !== undefined) socket.on('session', options.onSession)
    const connection = new Connection(socket, options.handlers)
    try {
      await connection.connect(options)
      const { standardName } = socket.getCipher()
      if (standardName !== CIPHER) throw new Error(`the broker chose ${standardName}, not ${CIPHER}`)
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }
}

/** Opens `count` connections, at most `concurrency` at a time, in the order of their numbers. */
export async function openMany(
  count: number,
  concurrency: number,
  open: (index: number) => Promise<Connection>,
): Promise<Connection[]> {
  const connections: Connection[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next
      next += 1
      connections[index] = await open(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker))
  return connections
}

export class Connection {
  readonly socket: TLSSocket
  readonly #handlers: ConnectionHandlers
  /** The beginning of a packet whose end has not come yet. */
  #rest: Buffer | undefined = undefined
  #toAcknowledge: number[] = []
  #waiting:
    | { readonly type: number; readonly resolve: (body: Buffer) => void; readonly reject: (error: Error) => void }
    | undefined = undefined
  #isClosing = false

  constructor(socket: TLSSocket, handlers: ConnectionHandlers) {
    this.socket = socket
    this.#handlers = handlers
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.#failed(error.message))
    socket.on('close', () => this.#failed('the broker closed the connection'))
  }

  async connect({ clientId, credentials, keepsSession = false }: ConnectionOptions): Promise<void> {
    const packet = encodePacket(
      {
        type: 'connect',
        protocolVersion: 4,
        cleanStart: !keepsSession,
        keepAliveSeconds: 0,
        clientId,
        userName: credentials?.userName,
        password: credentials === undefined ? undefined : Buffer.from(credentials.password),
      },
      4,
    )
    const body = await this.#ask(packet, CONNACK)
    if (body[1] !== 0) throw new Error(`CONNACK ${body[1]}`)
  }

  /** Resolves when each Topic Filter was granted at this QoS. */
  async subscribe(topicFilters: readonly string[], qos: JobQoS): Promise<void> {
    const subscriptions = topicFilters.map(
      (topicFilter) => ({ topicFilter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 }) as const,
    )
    const body = await this.#ask(encodePacket({ type: 'subscribe', packetId: 1, subscriptions }, 4), SUBACK)
    const refused = [...body.subarray(2)].filter((code) => code !== qos).length
    if (refused > 0)
      throw new Error(`${refused} of ${topicFilters.length} subscriptions were not granted at QoS ${qos}`)
  }

  write(bytes: Buffer): void {
    this.socket.write(bytes)
  }

  close(): void {
    this.#isClosing = true
    this.socket.destroy()
  }

  #ask(packet: Buffer, answerType: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`no packet of type ${answerType} within ${ANSWER_TIMEOUT_MS} ms`)),
        ANSWER_TIMEOUT_MS,
      )
      this.#waiting = {
        type: answerType,
        resolve: (body) => {
          clearTimeout(late)
          resolve(body)
        },
        reject: (error) => {
          clearTimeout(late)
          reject(error)
        },
      }
      this.socket.write(packet)
    })
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    let start = 0
    while (start < bytes.length) {
      const bodyStart = bodyStartOf(bytes, start)
      if (bodyStart === 0) break
      const end = bodyStart + remainingLengthOf(bytes, start)
      if (end > bytes.length) break
      this.#packet(bytes, bytes[start] as number, bodyStart, end)
      start = end
    }
    this.#rest = start === bytes.length ? undefined : bytes.subarray(start)
    if (this.#toAcknowledge.length > 0) this.#acknowledge()
  }

  #packet(bytes: Buffer, firstByte: number, start: number, end: number): void {
    const type = firstByte >> 4
    if (type === PUBLISH) {
      const topicEnd = start + 2 + bytes.readUInt16BE(start)
      const hasPacketId = (firstByte & 6) !== 0
      if (hasPacketId) this.#toAcknowledge.push(bytes.readUInt16BE(topicEnd))
      this.#handlers.publish(firstByte, bytes, hasPacketId ? topicEnd + 2 : topicEnd, end)
    } else if (type === PUBACK) {
      this.#handlers.acknowledged(bytes.readUInt16BE(start))
    } else if (type === this.#waiting?.type) {
      const { resolve } = this.#waiting
      this.#waiting = undefined
      resolve(Buffer.from(bytes.subarray(start, end)))
    } else {
      this.#failed(`an unexpected packet of type ${type}`)
    }
  }

  /**
   * Sends all PUBACKs of a chunk in one write, as a client does that cares for its own CPU time.
   */
  #acknowledge(): void {
    const bytes = Buffer.allocUnsafe(4 * this.#toAcknowledge.length)
    let at = 0
    for (const packetId of this.#toAcknowledge) at = bytes.writeUInt32BE(0x4002_0000 + packetId, at)
    this.#toAcknowledge = []
    this.socket.write(bytes)
  }

  #failed(reason: string): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#waiting?.reject(new Error(reason))
    this.#handlers.failed(reason)
  }
}

/** The position of the packet's body; 0 while its fixed header is incomplete. */
function bodyStartOf(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) if ((bytes[at] as number) < 0x80) return at + 1
  return 0
}

function remainingLengthOf(bytes: Buffer, start: number): number {
  let length = 0
  for (let at = start + 1, shift = 0; ; at += 1, shift += 7) {
    const byte = bytes[at] as number
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) return length
  }
}
