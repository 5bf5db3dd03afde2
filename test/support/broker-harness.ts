/**
 * A broker core over in-memory duplexes, and a client of raw packets: thousands of tests in
 * seconds, without a socket.
 */
import { Broker } from '../../src/broker/broker.ts'
import type { BrokerOptions } from '../../src/broker/broker.ts'
import type { Clock, SteadyMs } from '../../src/clock.ts'
import { ALLOWED } from '../../src/broker/ports/policy.ts'
import type {
  Admission,
  Credentials,
  Decision,
  Permit,
  PermitEnd,
  PermitWatcher,
  Policy,
} from '../../src/broker/ports/policy.ts'
import type { BytesPart, Transport, TransportHandlers } from '../../src/broker/ports/transport.ts'
import { MemoryEngine } from '../../src/engine/memory/memory.ts'
import { encodePacket } from '../../src/mqtt/encode-packet.ts'
import { PacketReader } from '../../src/mqtt/packet-reader.ts'
import type { Topic } from '../../src/mqtt/topic.ts'
import type {
  AcknowledgementPacket,
  ConnackPacket,
  ConnectPacket,
  Packet,
  ProtocolVersion,
  PublishPacket,
  ServerPacket,
  SubscriptionRequest,
} from '../../src/mqtt/packet.ts'

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1)
  #aheadMs = 0

  now(): number {
    return this.#now + this.#aheadMs
  }

  steady(): SteadyMs {
    return this.#now as SteadyMs
  }

  /** Sets the machine's clock forward or back; no time passes. */
  step(seconds: number): void {
    this.#aheadMs += seconds * 1000
  }

  afterTurn(run: () => void): void {
    setImmediate(run)
  }

  /** The broker's short waits end with the turn. */
  after(_ms: number, run: () => void): () => void {
    const waiting = setImmediate(run)
    // A wait that begins anew with its end must not keep the test's process alive.
    waiting.unref()
    return () => clearImmediate(waiting)
  }

  cpu(): number {
    return 0
  }

  /** Time passes by `advance` alone. */
  rest(): void {}

  /** Moves the time second by second, with a tick of the broker at each second. */
  advance(broker: Broker, seconds: number): void {
    for (let step = 0; step < seconds; step += 1) {
      this.#now += 1000
      broker.tick()
    }
  }
}

/** A permit whose rights a test sets and changes. */
export class TestPermit implements Permit {
  readonly tenant: string
  readonly identity: string
  readonly ground = 'a ground'
  account: string | undefined = undefined
  expiresAtMs: number | undefined = undefined
  beganAtMs: number | undefined = undefined
  maximumMessagesPerSecond = Infinity
  defaultSessionExpirySeconds: number | undefined = undefined
  backPressure: 'own' | 'shared' | undefined = undefined
  mayReceive: Permit['mayReceive'] = undefined
  whyNarrower: Permit['whyNarrower'] = undefined
  belongsSinceMs: ((topicFilter: string) => Promise<number>) | undefined = undefined
  whyUnmatched: Permit['whyUnmatched'] = undefined
  inspect: Permit['inspect'] = undefined
  publish: (topicName: string) => Decision | Promise<Decision> = () => ALLOWED
  subscribe: (topicFilter: string) => Decision = () => ALLOWED
  readonly #watchers = new Set<PermitWatcher>()

  constructor(tenant = 'tenant', identity = 'user') {
    this.tenant = tenant
    this.identity = identity
  }

  mayPublish({ name }: Topic): Decision | Promise<Decision> {
    return this.publish(name)
  }

  maySubscribe(topicFilter: string): Decision {
    return this.subscribe(topicFilter)
  }

  watch(watcher: PermitWatcher): void {
    this.#watchers.add(watcher)
  }

  unwatch(watcher: PermitWatcher): void {
    this.#watchers.delete(watcher)
  }

  changed(end?: PermitEnd): void {
    for (const watcher of this.#watchers) watcher.permitChanged(end)
  }
}

/**
 * Admits everybody. The user name is `tenant`, `tenant/identity` or `tenant/identity/circle`; no
 * user name means `tenant/user`.
 */
export class TestPolicy implements Policy {
  readonly authenticationMethod = 'TEST'
  readonly permits: TestPermit[] = []
  admit: (credentials: Credentials) => Admission | Promise<Admission> = ({ userName }) => {
    const [tenant, ...identity] = (userName ?? 'tenant/user').split('/')
    const permit = new TestPermit(tenant, identity.length === 0 ? undefined : identity.join('/'))
    this.permits.push(permit)
    return { allowed: true, permit }
  }
  renew: (data: Buffer | undefined) => Admission | undefined = () => undefined

  async authenticate(credentials: Credentials): Promise<Admission> {
    return this.admit(credentials)
  }

  async reauthenticate(permit: Permit, data: Buffer | undefined): Promise<Admission> {
    return this.renew(data) ?? { allowed: true, permit }
  }
}

/** One end of an in-memory duplex that keeps the written bytes until the test reads them. */
class MemoryTransport implements Transport {
  handlers: TransportHandlers | undefined = undefined
  readonly written: Buffer[] = []
  wroteAnything: () => void = () => {}
  ended = false
  paused = false
  /** True: no written byte is taken, because the client does not read. */
  stuck = false
  #buffered = 0

  attach(handlers: TransportHandlers): void {
    this.handlers = handlers
  }

  write({ bytes, start, end }: BytesPart): void {
    this.written.push(Buffer.from(bytes.subarray(start, end)))
    if (this.stuck) this.#buffered += end - start
    this.wroteAnything()
  }

  get bufferedBytes(): number {
    return this.#buffered
  }

  unstick(): void {
    this.stuck = false
    this.#buffered = 0
    this.handlers?.drained()
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  end(): void {
    this.ended = true
    this.wroteAnything()
  }

  destroy(): void {
    this.end()
  }
}

export interface Harness {
  readonly broker: Broker
  readonly policy: TestPolicy
  readonly clock: ManualClock
  /** A client that has not sent CONNECT. */
  readonly open: (version?: ProtocolVersion) => TestClient
  /** A client that has got CONNACK. */
  readonly connect: (fields?: Partial<ConnectPacket>) => Promise<TestClient>
}

/**
 * A CONNECT of MQTT 5.0 with Clean Start and without Keep Alive, unless the fields say otherwise.
 */
export function connectPacket(fields: Partial<ConnectPacket> = {}): ConnectPacket {
  return { type: 'connect', protocolVersion: 5, cleanStart: true, keepAliveSeconds: 0, clientId: 'client', ...fields }
}

export async function createHarness(options: Partial<BrokerOptions> = {}): Promise<Harness> {
  const clock = new ManualClock()
  const policy = new TestPolicy()
  let count = 0
  const broker = new Broker({
    policy,
    engine: new MemoryEngine(),
    clock,
    randomId: () => `assigned-${(count += 1)}`,
    ...options,
  })
  await broker.start()
  const open = (version: ProtocolVersion = 5): TestClient => new TestClient(broker, version)
  const connect = async (fields: Partial<ConnectPacket> = {}): Promise<TestClient> => {
    const client = open(fields.protocolVersion)
    client.send(connectPacket({ clientId: `client-${(count += 1)}`, ...fields }))
    const connack = await client.next('connack')
    if (connack.reasonCode !== 0) throw new Error(`CONNACK with Reason Code 0x${connack.reasonCode.toString(16)}`)
    client.connack = connack
    client.sessionPresent = connack.sessionPresent
    return client
  }
  return { broker, policy, clock, open, connect }
}

type PacketOf<Type extends ServerPacket['type']> = Type extends AcknowledgementPacket['type']
  ? AcknowledgementPacket
  : Extract<ServerPacket, { type: Type }>

export class TestClient {
  readonly transport = new MemoryTransport()
  readonly version: ProtocolVersion
  sessionPresent = false
  /** The answer to its CONNECT; undefined before. */
  connack: ConnackPacket | undefined = undefined
  /**
   * True for a client whose own bytes were garbage, so it can't know in which version it is
   * answered.
   */
  readsNoMore = false
  /** The bytes that were received. */
  readonly receivedBytes: Buffer[] = []
  readonly #reader: PacketReader<'client'>
  readonly #packets: ServerPacket[] = []
  #waiting: (() => void) | undefined = undefined
  #taken = 0
  #packetId = 0

  constructor(broker: Broker, version: ProtocolVersion) {
    this.version = version
    this.#reader = new PacketReader({ role: 'client', maximumPacketSizeBytes: 268_435_460 })
    this.#reader.protocolVersion = version
    this.transport.wroteAnything = () => this.#read()
    broker.accept(this.transport, { address: '127.0.0.1', listener: 'tcp' })
  }

  /** The number of packets that were received and not taken yet. */
  get unread(): number {
    return this.#packets.length
  }

  /** Takes the next received packet, without waiting. */
  takeOne(): ServerPacket | undefined {
    return this.#packets.shift()
  }

  /** Takes all received packets, without waiting. */
  takeAll(): ServerPacket[] {
    return this.#packets.splice(0)
  }

  send(packet: Packet): void {
    this.sendBytes(encodePacket(packet, this.version))
  }

  sendBytes(bytes: Buffer): void {
    if (!this.transport.ended) this.transport.handlers?.data(bytes)
  }

  /** The network fails, without a packet. */
  drop(): void {
    this.transport.ended = true
    this.transport.handlers?.closed(undefined)
  }

  /** The next packet, which must have this type. */
  next<Type extends ServerPacket['type']>(type: Type): Promise<PacketOf<Type>> {
    return this.nextOf(type)
  }

  /** The next packet, which must have one of these types. */
  async nextOf<Type extends ServerPacket['type']>(...types: readonly Type[]): Promise<PacketOf<Type>> {
    while (this.#packets.length === 0) {
      if (this.transport.ended) throw new Error(`closed while waiting for ${types.join()}`)
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
    const packet = this.#packets.shift() as ServerPacket
    const isExpected = types.some((type) => packet.type === type)
    if (!isExpected) throw new Error(`expected ${types.join()}, got ${JSON.stringify(packet)}`)
    return packet as PacketOf<Type>
  }

  /** Waits until the broker has closed the connection; earlier packets can still be read. */
  async closed(): Promise<void> {
    while (!this.transport.ended) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
  }

  /**
   * The packets that came before the answer to a PINGREQ. This shows that no other packet was sent.
   */
  async sync(): Promise<ServerPacket[]> {
    this.send({ type: 'pingreq' })
    const before: ServerPacket[] = []
    for (;;) {
      while (this.#packets.length === 0) {
        if (this.transport.ended) throw new Error('closed while waiting for pingresp')
        await new Promise<void>((resolve) => {
          this.#waiting = resolve
        })
      }
      const packet = this.#packets.shift() as ServerPacket
      if (packet.type === 'pingresp') return before
      before.push(packet)
    }
  }

  async subscribe(
    topicFilter: string,
    options: Partial<SubscriptionRequest> = {},
    subscriptionIdentifier?: number,
  ): Promise<number> {
    const packetId = this.nextPacketId()
    const request = {
      topicFilter,
      qos: 0,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
      ...options,
    } as const
    const properties = subscriptionIdentifier === undefined ? undefined : { subscriptionIdentifier }
    this.send({ type: 'subscribe', packetId, subscriptions: [request], properties })
    const suback = await this.next('suback')
    return suback.reasonCodes[0] as number
  }

  publish(topicName: string, payload: string, fields: Partial<PublishPacket> = {}): number {
    const packetId = (fields.qos ?? 0) > 0 ? (fields.packetId ?? this.nextPacketId()) : 0
    this.send({
      type: 'publish',
      topicName,
      payload: Buffer.from(payload),
      qos: 0,
      retain: false,
      dup: false,
      ...fields,
      packetId,
    })
    return packetId
  }

  acknowledge(type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp', packetId: number, reasonCode = 0): void {
    this.send({ type, packetId, reasonCode })
  }

  disconnect(reasonCode = 0): void {
    this.send({ type: 'disconnect', reasonCode })
  }

  nextPacketId(): number {
    this.#packetId = (this.#packetId % 65_535) + 1
    return this.#packetId
  }

  #read(): void {
    if (this.readsNoMore) return
    for (; this.#taken < this.transport.written.length; this.#taken += 1) {
      const bytes = this.transport.written[this.#taken] as Buffer
      this.receivedBytes.push(bytes)
      this.#reader.push(bytes)
    }
    for (let packet = this.#reader.next(); packet !== undefined; packet = this.#reader.next())
      this.#packets.push(packet)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.()
  }
}
