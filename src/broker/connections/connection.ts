/**
 * One Network Connection: the bytes that come in, the packets that go out, and the state that lives
 * as long as it.
 */
import { MalformedPacketError } from '../../mqtt/malformed-packet.ts'
import type { AcknowledgementPacket, ProtocolVersion, QoS, ServerPacket, WillMessage } from '../../mqtt/packet.ts'
import type { IncomingClientPacket } from '../../mqtt/packet-reader.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Topic } from '../../mqtt/topic.ts'
import type { BackPressure, WaitingLink } from '../publishing/back-pressure.ts'
import { later } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import { isNameWithin } from '../ports/limits.ts'
import type { Deadline } from '../sessions/deadlines.ts'
import type { Message } from '../ports/message.ts'
import { accountOf } from '../ports/policy.ts'
import type { Peer, Permit, PermitEnd, PermitHolder } from '../ports/policy.ts'
import type { Account } from './accounts.ts'
import type { Agreement } from './agreement.ts'
import type { ConnectionHost } from './connection-host.ts'
import { HeldPermit } from './held-permit.ts'
import type { PermitOwner } from './held-permit.ts'
import { ConnectionInput } from './connection-input.ts'
import type { InputOwner } from './connection-input.ts'
import { ConnectionOutput } from './connection-output.ts'
import type { OutputOwner } from './connection-output.ts'
import { reasonCodeFor, reasonString } from './reason-code-for.ts'
import type { UnacknowledgedPublishes } from '../publishing/connection-publishes.ts'
import type { PublisherLink } from '../publishing/publisher-link.ts'
import { ReceiveWindow } from '../sessions/receive-window.ts'
import type { Session } from '../sessions/session.ts'
import { Traffic } from './traffic.ts'
import type { TrafficRates } from './traffic.ts'
import { IncomingTopicAliases } from './topic-aliases.ts'
import type { Transport, TransportHandlers } from '../ports/transport.ts'

/** The number of Packet Identifiers of one direction (MQTT 5.0 §2.2.1). */
const MAXIMUM_PACKET_IDS = 65_535
/**
 * Before a connection ends because of a refusal, the messages that it sent have this time to be
 * owned.
 */
export const ENDING_MS = 1_000

type State = 'awaiting connect' | 'judging connect' | 'connected' | 'closed'

export class Connection
  implements TransportHandlers, PublisherLink, WaitingLink, InputOwner, OutputOwner, PermitOwner, Deadline
{
  readonly #host: ConnectionHost<Connection>
  readonly peer: Peer
  /** Counts up: no other connection of this broker has the same number. */
  readonly number: number
  readonly openedAtMs: number
  readonly traffic: Traffic
  readonly #transport: Transport
  readonly #input: ConnectionInput
  readonly #output: ConnectionOutput
  /** Its deadline is that of the client's next packet, or the end of the connection. */
  dueSecond = -1
  #state: State = 'awaiting connect'
  #agreement: Agreement | undefined = undefined
  /** Set once CONNECT is accepted. */
  #account: Account | undefined = undefined
  readonly #permit: HeldPermit
  /**
   * Asked for each message where the permit was granted wider than the messages that it may bring.
   * Like `sendMaximum`, it stands here because each delivery reads it: a look into one object more
   * can be a wait for memory.
   */
  mayReceive: Permit['mayReceive'] = undefined
  /** QoS 1 and 2 messages that the client takes at once. Known once CONNECT is accepted. */
  sendMaximum = 0
  #backPressure: BackPressure | undefined = undefined
  #unacknowledgedPublishes: UnacknowledgedPublishes | undefined = undefined
  will: WillMessage | undefined = undefined
  #window: ReceiveWindow | undefined = undefined
  /** True at the bound of bytes buffered towards the client. */
  congested = false
  /** Why the connection ends, once everything that was read is handled. */
  #ending: PermitEnd | undefined = undefined
  #incomingAliases: IncomingTopicAliases | undefined = undefined

  constructor(host: ConnectionHost<Connection>, transport: Transport, peer: Peer, number: number) {
    this.#host = host
    const { clock, limits, deadlines } = host
    this.number = number
    this.traffic = new Traffic(host.second)
    this.peer = peer
    this.#transport = transport
    this.#input = new ConnectionInput({ host, transport, traffic: this.traffic, owner: this })
    this.#permit = new HeldPermit(host, this)
    this.#output = new ConnectionOutput({ host, transport, traffic: this.traffic, owner: this })
    this.openedAtMs = clock.now()
    deadlines.set(this, later(clock.steady(), limits.connectTimeoutMs))
    transport.attach(this)
  }

  /** The rates at which the connection carries messages and bytes at present. */
  get rates(): TrafficRates {
    return this.traffic.rates(this.#host.second)
  }

  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  get session(): Session {
    return this.#agreed().session
  }

  get permit(): Permit {
    return this.#permit.permit
  }

  /** Set where messages of this connection are not refused for a reason that passes. */
  get backPressure(): BackPressure | undefined {
    return this.#backPressure
  }

  /** Made with the first message: most connections publish none. */
  get window(): ReceiveWindow {
    return (this.#window ??= new ReceiveWindow(this.#host.limits.receiveMaximum))
  }

  /** True while a message that the client has published is under way. */
  get hasPending(): boolean {
    return this.#window !== undefined && this.#window.pending > 0
  }

  /** True while the client waits for the answer to a message, or one is under way. */
  get hasUnanswered(): boolean {
    return this.hasPending || (this.#window !== undefined && this.#window.unacknowledged > 0)
  }

  /** Made with the first QoS 0 message: most connections publish none. */
  get unacknowledgedPublishes(): UnacknowledgedPublishes {
    return (this.#unacknowledgedPublishes ??= this.#host.createUnacknowledgedPublishes(this))
  }

  get protocolVersion(): ProtocolVersion {
    return this.#agreement === undefined ? (this.#input.protocolVersion ?? 5) : this.#output.protocolVersion
  }

  /**
   * QoS 1 and 2 messages that the client may have unacknowledged. Where messages wait for room,
   * this is the number of Packet Identifiers: waiting itself bounds what is read. The client
   * rumqttc counts its Packet Identifiers up to this number and begins anew. When it comes back it
   * sends again by Packet Identifier, so events that were sent across that border would come in the
   * wrong order.
   */
  get receiveMaximum(): number {
    return this.#backPressure === undefined ? this.#host.limits.receiveMaximum : MAXIMUM_PACKET_IDS
  }

  get keepAliveSeconds(): number {
    return this.#agreed().keepAliveSeconds
  }

  get authenticationMethod(): string | undefined {
    return this.#agreed().authenticationMethod
  }

  /** The Client Identifier for logs; undefined before there is a Session. */
  get clientId(): string | undefined {
    return this.#agreement?.session.clientId
  }

  /** Begins to judge a CONNECT: packets behind it wait. False for a second CONNECT. */
  judging(clientMaximumPacketSizeBytes: number): boolean {
    if (this.#state !== 'awaiting connect') return false
    this.#state = 'judging connect'
    this.#output.maximumPacketSizeBytes = clientMaximumPacketSizeBytes
    return true
  }

  /** The CONNECT was accepted; the caller sends CONNACK next. */
  accepted(agreement: Agreement): void {
    this.#state = 'connected'
    this.#agreement = agreement
    this.#output.agree(agreement)
    this.sendMaximum = agreement.sendMaximum
    this.will = agreement.will
    const { accounts, clock } = this.#host
    this.#account = accounts.join(accountOf(agreement.permit), clock.steady())
    this.#input.accepted(this.#account)
    this.#output.share = this.#account.writing
    this.holdPermit(agreement.permit)
    this.#keepAlive()
  }

  /** Takes a permit, in the place of the earlier one if there was one. */
  holdPermit(permit: Permit): void {
    if (permit.backPressure !== undefined) this.#backPressure ??= this.#host.createBackPressure(this)
    this.#input.maximumPublishesPerSecond = permit.maximumMessagesPerSecond
    this.mayReceive = permit.mayReceive
    this.#permit.hold(permit)
  }

  /**
   * Plans the end of the connection for the time of day at which its permit ends, and the notice
   * before it. Call it again when the machine's clock was set.
   */
  planExpiry(): void {
    this.#permit.planExpiry()
  }

  /** The Session has a new subscription to the notice before the permit's end. */
  expiryNoticeWanted(): void {
    this.#permit.noticeWanted()
  }

  /**
   * Sends the packet, without its Reason String if it would be too large for the client; ends the
   * connection where that is not enough [MQTT-3.1.2-24].
   */
  send(packet: ServerPacket): void {
    if (this.#output.send(packet)) return
    if (packet.type === 'connack') this.close()
    else this.disconnect(ReasonCodes.packetTooLarge, 'the answer is too large for the client', 'answer_too_large')
  }

  /** Holds CONNACK up, with all that follows it, until `releaseOutput`. */
  holdOutput(): void {
    this.#output.hold()
  }

  releaseOutput(): void {
    this.#output.release()
  }

  sendAcknowledgement(
    type: AcknowledgementPacket['type'],
    packetId: number,
    reasonCode: ReasonCode = ReasonCodes.success,
    reason?: string,
  ): void {
    if (reasonCode === ReasonCodes.success || this.protocolVersion === 4) this.#output.acknowledge(type, packetId)
    else {
      const told = type === 'puback' || type === 'pubrec' ? reasonCodeFor('acknowledgement', reasonCode) : reasonCode
      this.send({ type, packetId, reasonCode: told, properties: this.reasonProperties(reason) })
    }
  }

  sendPublish(
    message: Message,
    qos: QoS,
    retain: boolean,
    dup: boolean,
    packetId: number,
    subscriptionIdentifiers: readonly number[] | undefined,
  ): boolean {
    return this.#output.publish(message, qos, retain, dup, packetId, subscriptionIdentifiers)
  }

  /**
   * True for a client that takes Reason Strings in every packet: MQTT 5, with Request Problem
   * Information.
   */
  get wantsReasons(): boolean {
    return this.protocolVersion === 5 && this.#agreed().requestProblemInformation
  }

  /** A Reason String, if the client wants one. */
  reasonProperties(reason: string | undefined): { readonly reasonString: string } | undefined {
    if (reason === undefined || !this.#agreed().requestProblemInformation) return undefined
    return { reasonString: reasonString(reason) }
  }

  /**
   * The topic of a PUBLISH, by its Topic Alias if need be; undefined for a Topic Alias that is not
   * known.
   */
  resolveTopic(topic: Topic, topicAlias: number | undefined): Topic | undefined {
    if (topicAlias === undefined) return topic
    if (topic.name === '') return this.#incomingAliases?.topic(topicAlias)
    this.#incomingAliases ??= new IncomingTopicAliases()
    // A name beyond the limits is refused, and is not kept either.
    if (isNameWithin(topic, this.#host.limits)) this.#incomingAliases.set(topicAlias, topic)
    else this.#incomingAliases.delete(topicAlias)
    return topic
  }

  waitFor(judged: Promise<void>): void {
    this.#input.waitFor(judged)
  }

  /** Refuses a CONNECT and closes [MQTT-3.2.2-6], [MQTT-3.1.4-6]. */
  refuse(
    reasonCode: ReasonCode,
    reason: string,
    code: string,
    of: {
      readonly clientId?: string
      readonly holder?: PermitHolder | undefined
      /** True: the log has a line for many refusals of this kind already. */
      readonly isLogged?: boolean
    } = {},
  ): void {
    if (this.#state === 'closed') return
    this.#host.counters.connectionsRefused += 1
    this.#host.connectRefused({
      kind: 'connect',
      code,
      reason,
      clientId: of.clientId,
      address: this.peer.address,
      holder: of.holder,
      topic: undefined,
    })
    const level = of.isLogged === true ? 'debug' : 'warn'
    this.#host.log[level]({ peer: this.peer.address, reasonCode, code, reason }, 'connection.refused')
    this.#output.protocolVersion = this.protocolVersion
    this.#output.send({
      type: 'connack',
      sessionPresent: false,
      reasonCode: reasonCodeFor('connack', reasonCode),
      properties: { reasonString: reasonString(reason) },
    })
    this.#output.flush()
    this.#close()
  }

  /**
   * Ends the connection from our side. MQTT 5 is told why, MQTT 3.1.1 is closed [MQTT-4.13.1-1].
   */
  disconnect(reasonCode: ReasonCode, reason: string, code: string): void {
    if (this.#state === 'closed') return
    if (this.#state !== 'connected') {
      this.#host.log.debug({ peer: this.peer.address, reasonCode, code, reason }, 'connection.closed')
      this.#close()
      return
    }
    const { clientId } = this
    this.#host.log.info(
      { clientId, peer: this.peer.address, tenant: this.permit.tenant, reasonCode, code, reason },
      'connection.ended',
    )
    if (this.protocolVersion === 5) {
      const properties = this.congested ? undefined : { reasonString: reasonString(reason) }
      const told = reasonCodeFor('disconnect', reasonCode)
      this.#output.send({ type: 'disconnect', reasonCode: told, properties })
    }
    this.#output.flush()
    this.#close()
  }

  /**
   * Ends the connection once everything that was read of it is handled and owned, or after a
   * second. A client sends unacknowledged messages again, and loses those of QoS 0: it shall not
   * pay for one message with the others.
   */
  endWhenRead(reasonCode: ReasonCode, reason: string, code: string): void {
    if (this.#state === 'closed' || this.#ending !== undefined) return
    const host = this.#host
    this.#ending = { reasonCode, reason, code }
    this.#input.pause()
    host.deadlines.set(this, later(host.clock.steady(), ENDING_MS))
    this.endLater()
  }

  /**
   * Closes the connection without a word: the client has said DISCONNECT, or there is nothing to
   * tell it.
   */
  close(): void {
    if (this.#state === 'closed') return
    this.#output.flush()
    this.#close()
  }

  /** A second has begun: reading goes on. */
  unthrottle(): void {
    this.#input.unthrottle()
  }

  /** A second has passed. Returns false when no packet waits behind one that is being judged. */
  answerPings(): boolean {
    return this.#input.answerPings()
  }

  answerPing(): void {
    this.send({ type: 'pingresp' }) // [MQTT-3.12.4-1]
  }

  #agreed(): Agreement {
    return this.#agreement as Agreement
  }

  /** Called by the transport with bytes that came in. */
  data(chunk: Buffer): void {
    if (this.#state !== 'closed') this.#input.data(chunk)
  }

  // The members of `InputOwner`.

  get isEnding(): boolean {
    return this.#ending !== undefined
  }

  handle(packet: IncomingClientPacket): Promise<void> | undefined {
    return this.#host.handle(this, packet)
  }

  throttle(): void {
    this.#host.throttle(this)
  }

  heldUp(): void {
    this.#host.heldUp(this)
  }

  endLater(): void {
    this.#host.clock.afterTurn(() => this.#endIfRead())
  }

  #endIfRead(): void {
    const ending = this.#ending
    if (ending === undefined || this.#input.isHeldUp || this.#state === 'closed') return
    if (this.hasPending) {
      // The acknowledgements of the pending messages go first.
      void this.window.settled().then(() => this.endLater())
      return
    }
    this.disconnect(ending.reasonCode, ending.reason, ending.code)
  }

  /** The one place where an exception of a connection ends: the fault is the client's, or ours. */
  failed(error: unknown): void {
    if (this.#state === 'closed') return
    if (error instanceof MalformedPacketError) {
      const version = error.protocolVersion ?? this.#input.protocolVersion
      // In MQTT 3.1.1 a malformed CONNECT is answered only when its version is not supported; any
      // other is closed [MQTT311-3.1.4-1].
      const isAnswered = version === 5 || error.reasonCode === ReasonCodes.unsupportedProtocolVersion
      if (this.#state !== 'connected' && version !== undefined && isAnswered) {
        this.#input.protocolVersion = version
        this.refuse(error.reasonCode, error.message, 'malformed_packet')
      } else this.disconnect(error.reasonCode, error.message, 'malformed_packet')
      return
    }
    this.#host.log.error({ err: error, clientId: this.clientId, peer: this.peer.address }, 'connection.failed')
    this.disconnect(ReasonCodes.unspecifiedError, 'the server failed on a packet', 'internal')
  }

  /** Called by the output: the buffer towards the client is full. */
  becomesCongested(): void {
    this.congested = true
    const { deadlines, clock, limits } = this.#host
    // Nothing is read from a client that does not read: its acknowledgements would gather here.
    this.#input.pause()
    deadlines.set(this, later(clock.steady(), limits.slowReaderTimeoutMs))
  }

  /** Called by the transport: the bytes that it had buffered have gone out. */
  drained(): void {
    if (!this.congested || this.#state === 'closed') return
    this.congested = false
    this.#output.recount()
    // Packets of the client could not be read meanwhile: its silence counts from now.
    this.#input.lastPacketAt = this.#host.clock.steady()
    this.#keepAlive()
    if (this.#agreement !== undefined) this.#host.wake(this.#agreement.session)
    this.#input.resume()
  }

  /**
   * Plans the end of the connection for one and a half times the Keep Alive after the last packet
   * [MQTT-3.1.2-22].
   */
  #keepAlive(): void {
    const { deadlines } = this.#host
    const seconds = this.#agreement?.keepAliveSeconds ?? 0
    if (seconds === 0) deadlines.clear(this)
    else deadlines.set(this, later(this.#input.lastPacketAt, seconds * 1500))
  }

  /** The client is silent, does not read, or has been given its time to end. */
  due(now: SteadyMs): void {
    if (this.#state !== 'connected') {
      this.disconnect(ReasonCodes.maximumConnectTime, 'no CONNECT was accepted in time', 'connect_timeout')
    } else if (this.#ending !== undefined) {
      this.disconnect(this.#ending.reasonCode, this.#ending.reason, this.#ending.code)
    } else if (this.congested) {
      this.disconnect(ReasonCodes.quotaExceeded, 'the client does not read what it is sent', 'slow_reader')
    } else if (this.#input.isHeldUp) {
      // The client is not silent: we do not read.
      this.#input.lastPacketAt = now
      this.#keepAlive()
    } else if (now - this.#input.lastPacketAt >= this.#agreed().keepAliveSeconds * 1500) {
      this.disconnect(
        ReasonCodes.keepAliveTimeout,
        'nothing was received within one and a half times the Keep Alive',
        'keep_alive_timeout',
      )
    } else this.#keepAlive()
  }

  /** Called by the transport: the other end has closed, or the duplex failed. */
  closed(error: Error | undefined): void {
    if (this.#state === 'closed') return
    this.#host.log.debug({ err: error, clientId: this.clientId, peer: this.peer.address }, 'connection.lost')
    this.#ended()
    this.#transport.destroy()
  }

  #close(): void {
    this.#ended()
    this.#transport.end()
  }

  #ended(): void {
    const host = this.#host
    this.#state = 'closed'
    this.#input.end()
    this.#output.close()
    if (this.#account !== undefined) host.accounts.leave(this.#account)
    host.deadlines.clear(this)
    this.#permit.end()
    this.#window?.end()
    this.#backPressure?.giveUp()
    host.ended(this, this.#agreement?.session)
  }
}
