/**
 * The network server's side of one device: its session, its downlinks, the times at which it
 * answers, and its events for the broker. Like the device, it has no timer of its own.
 */
import { DataRateAdvice } from './adaptive-data-rate.ts'
import { DownlinkQueue } from './downlink-queue.ts'
import type { DiscardedItem, QueueItem } from './downlink-queue.ts'
import { parseDownlink } from './downlink.ts'
import type { Family } from './downlink.ts'
import { HeardFrameCounter } from './frame-counter.ts'
import type { Gateways } from './gateways.ts'
import type { DeviceIdentity, FaultEvent, Heard, NetworkEvent } from './network-event.ts'
import type { DownlinkFrame, JoinAccept, JoinRequest, RadioSettings, UplinkFrame } from './radio.ts'
import type { Random } from './random.ts'
import { JOIN_ACCEPT_DELAY_MS, RECEIVE_DELAY_MS, airtimeMs } from './region.ts'
import type { Carrier, DataRate } from './region.ts'

export interface NetworkSideSettings {
  readonly identity: DeviceIdentity
  readonly radio: RadioSettings
  readonly family: Family
  readonly gateways: Gateways
  readonly random: Random
  /** False: the network server has no codec for the device. */
  readonly hasCodec: boolean
  /**
   * The number of the last uplink of a session from before the start; undefined: there is no
   * session.
   */
  readonly resumedAfterFCnt: number | undefined
}

/** The fate of a message on the device's command topic. */
export type CommandFate =
  | { readonly outcome: 'queued'; readonly queueItemId: string }
  | { readonly outcome: 'refused'; readonly event: NetworkEvent }
  | { readonly outcome: 'ignored'; readonly reason: string }

/**
 * The result of one step of the network server: events in order, and a frame that is on the air
 * now.
 */
interface Step {
  readonly events: readonly NetworkEvent[]
  readonly frame: DownlinkFrame | JoinAccept | undefined
}

/**
 * If a device of class C does not acknowledge a downlink within this time, the downlink counts as
 * not received.
 */
const CLASS_C_TIMEOUT_MS = 5000

/** The time between two downlinks to a device of class C, so that it can answer. */
const CLASS_C_SPACING_MS = 1000

/** The devices have no JoinEUI of their own. */
const JOIN_EUI = '0000000000000000'

/** The size of a join accept, in bytes of application data. */
const JOIN_ACCEPT_BYTES = 4

/** The receive windows after an uplink: the one that opens next, and its purpose. */
interface Windows {
  readonly answers: 'join-request' | 'uplink'
  readonly number: 1 | 2
  readonly atMs: number
  readonly advice: DataRate | undefined
  readonly mustAnswer: boolean
}

interface NetworkSession {
  readonly devAddr: string
  readonly counter: HeardFrameCounter
  readonly advice: DataRateAdvice
  fCntDown: number
  /** False until the first uplink, after which the join event is published. */
  isTold: boolean
}

export class NetworkSide {
  readonly #settings: NetworkSideSettings
  readonly #queue: DownlinkQueue
  #session: NetworkSession | undefined
  #lastDevNonce = -1
  #heard: Heard | undefined
  #windows: Windows | undefined
  /** Class C: the earliest time for the next downlink. */
  #transmitAtMs = Number.POSITIVE_INFINITY
  #acknowledgeByMs = Number.POSITIVE_INFINITY

  constructor(settings: NetworkSideSettings) {
    this.#settings = settings
    this.#queue = new DownlinkQueue(settings.radio.downlinkRetries)
    const { resumedAfterFCnt } = settings
    if (resumedAfterFCnt === undefined) return
    this.#session = { ...this.#newSession(new HeardFrameCounter(resumedAfterFCnt)), isTold: true }
  }

  /** The time at which `run` has work, in milliseconds since 1970. */
  get dueAtMs(): number {
    return Math.min(this.#windows?.atMs ?? Number.POSITIVE_INFINITY, this.#transmitAtMs, this.#acknowledgeByMs)
  }

  /**
   * The time at which the receive window opens in which the device will be answered; undefined: it
   * will not be.
   */
  get answerAtMs(): number | undefined {
    return this.#windows?.atMs
  }

  /** Does the one step that is due. */
  run(nowMs: number): Step {
    if (this.#windows !== undefined && this.#windows.atMs <= nowMs) return this.#openWindow(this.#windows, nowMs)
    if (this.#acknowledgeByMs <= nowMs) return { events: this.#settle(false, nowMs, this.#newId()), frame: undefined }
    return this.#transmitAtMs <= nowMs ? this.#transmitAtOnce(nowMs) : { events: [], frame: undefined }
  }

  /** A message came on the device's command topic. Returns its fate. */
  receive(payload: Buffer, nowMs: number): CommandFate {
    const { family, identity } = this.#settings
    const result = parseDownlink(payload, family, identity.record.devEUI)
    if (result.outcome === 'ignored') return result
    if (result.outcome === 'codec_failed') {
      // ChirpStack v4 only writes this into its own log.
      if (family === 'B') return { outcome: 'ignored', reason: 'the object cannot be encoded' }
      const queueItemId = { id: result.id ?? this.#newId(), isGiven: result.id !== undefined }
      return { outcome: 'refused', event: this.#downlinkFault('DOWNLINK_CODEC', result.message, nowMs, queueItemId) }
    }
    const { downlink } = result
    const item = { downlink, id: { id: downlink.id ?? this.#newId(), isGiven: downlink.id !== undefined } }
    const added = this.#queue.add(item)
    switch (added) {
      case 'repeated':
        return { outcome: 'ignored', reason: 'a command of this id is queued already' }
      case 'full':
        return {
          outcome: 'refused',
          event: this.#downlinkFault('DOWNLINK_QUEUE_FULL', "the device's downlink queue is full", nowMs, item.id),
        }
      case 'queued':
        this.#transmitSoon(nowMs)
        return { outcome: 'queued', queueItemId: item.id.id }
      default:
        return added satisfies never
    }
  }

  /**
   * A join request was heard. A number that was used before is refused; otherwise the accept
   * follows in the receive windows.
   */
  hearJoin(request: JoinRequest, heard: Heard, nowMs: number): NetworkEvent[] {
    if (request.devNonce <= this.#lastDevNonce) {
      const context = {
        dev_nonce: String(request.devNonce),
        join_eui: JOIN_EUI,
        deduplication_id: this.#newId(),
      }
      return [
        this.#fault({ code: 'OTAA', level: 'ERROR', description: 'the DevNonce was used before', context }, nowMs),
      ]
    }
    this.#lastDevNonce = request.devNonce
    this.#session = this.#newSession(new HeardFrameCounter())
    this.#heard = heard
    this.#transmitAtMs = Number.POSITIVE_INFINITY
    this.#windows = {
      answers: 'join-request',
      number: 1,
      atMs: nowMs + JOIN_ACCEPT_DELAY_MS,
      advice: undefined,
      mustAnswer: true,
    }
    return []
  }

  /** An uplink was heard. Frames of a device without a session are ignored. */
  hearUplink(frame: UplinkFrame, heard: Heard, nowMs: number): NetworkEvent[] {
    const session = this.#session
    if (session === undefined) return []
    const { fCnt, isRepeated } = session.counter.hear(frame.counter16)
    const deduplicationId = this.#newId()
    const advice = frame.adr ? session.advice.hear(heard.carrier.dataRate, heard.receptions[0].snr) : undefined
    this.#heard = heard
    const events = isRepeated
      ? [this.#repeatedFrame(fCnt, deduplicationId, nowMs)]
      : this.#newFrame(session, frame, { heard, fCnt, deduplicationId, nowMs })
    const mustAnswer = frame.confirmed || frame.asksForAnswer || advice !== undefined
    const hasDownlink = this.#settings.identity.deviceClass === 'A' && this.#queue.isWaiting
    if (mustAnswer || hasDownlink) {
      this.#windows = { answers: 'uplink', number: 1, atMs: nowMs + RECEIVE_DELAY_MS, advice, mustAnswer }
    }
    this.#transmitSoon(nowMs)
    return events
  }

  #newFrame(
    session: NetworkSession,
    frame: UplinkFrame,
    { heard, fCnt, deduplicationId, nowMs }: { heard: Heard; fCnt: number; deduplicationId: string; nowMs: number },
  ): NetworkEvent[] {
    const { identity: device, radio, random, hasCodec } = this.#settings
    const base = { device, atMs: nowMs, deduplicationId }
    const { devAddr } = session
    const events: NetworkEvent[] = []
    if (!session.isTold) events.push({ ...base, kind: 'join', devAddr, heard })
    session.isTold = true
    const hasFailed = hasCodec && random.chance(radio.codecErrorRate)
    if (hasFailed) {
      const description = 'decode payload: unexpected end of the payload'
      const context = { deduplication_id: deduplicationId }
      events.push({
        ...this.#fault({ code: 'UPLINK_CODEC', level: 'ERROR', description, fCnt, context }, nowMs),
        deduplicationId,
      })
    }
    const { adr, confirmed, measurement } = frame
    const { fPort, bytes } = measurement
    const object = hasCodec && !hasFailed ? measurement.object : undefined
    events.push({ ...base, kind: 'up', devAddr, adr, confirmed, fCnt, fPort, bytes, object, heard })
    if (this.#queue.isPending && (frame.acknowledges || device.deviceClass === 'A')) {
      events.push(...this.#settle(frame.acknowledges, nowMs, deduplicationId))
    }
    return events
  }

  #repeatedFrame(fCnt: number, deduplicationId: string, nowMs: number): NetworkEvent {
    const description = 'the frame counter did not increment: the frame is a retransmission'
    const context = { deduplication_id: deduplicationId, f_cnt_up: String(fCnt) }
    return this.#fault({ code: 'UPLINK_RETRANSMISSION', level: 'WARNING', description, fCnt, context }, nowMs)
  }

  #settle(acknowledged: boolean, nowMs: number, deduplicationId: string): NetworkEvent[] {
    this.#acknowledgeByMs = Number.POSITIVE_INFINITY
    const settlement = this.#queue.settle(acknowledged)
    this.#transmitSoon(nowMs)
    if (settlement === undefined) return []
    const { item, fCntDown } = settlement
    const device = this.#settings.identity
    const ids = { queueItemId: item.id, acknowledged, fCntDown }
    return [{ kind: 'ack', device, atMs: nowMs, deduplicationId, ...ids }]
  }

  /**
   * Class C listens all the time: a waiting downlink is sent at once, or as soon as the one before
   * is answered.
   */
  #transmitSoon(nowMs: number): void {
    if (this.#settings.identity.deviceClass !== 'C' || this.#session?.isTold !== true || this.#heard === undefined)
      return
    if (this.#queue.isWaiting && this.#transmitAtMs === Number.POSITIVE_INFINITY) this.#transmitAtMs = nowMs
  }

  #transmitAtOnce(nowMs: number): Step {
    const { radio, gateways } = this.#settings
    const { secondWindow: carrier } = radio.region
    const events = this.#discard(nowMs, carrier.dataRate)
    const item = this.#queue.next(carrier.dataRate.maximumPayloadBytes)
    this.#transmitAtMs = Number.POSITIVE_INFINITY
    if (item === undefined || this.#heard === undefined) return { events, frame: undefined }
    const by = this.#heard.receptions.map(({ gateway }) => gateway)
    const onAirMs = airtimeMs(carrier.dataRate, item.downlink.bytes.length)
    const gateway = gateways.send(by, nowMs, onAirMs)
    if (gateway === undefined) {
      this.#transmitAtMs = gateways.freeAtMs(by)
      return { events, frame: undefined }
    }
    events.push(this.#sent(item, { gatewayId: gateway.gatewayId, carrier, delaySeconds: undefined }, nowMs))
    if (this.#queue.isPending) this.#acknowledgeByMs = nowMs + onAirMs + CLASS_C_TIMEOUT_MS
    else if (this.#queue.isWaiting) this.#transmitAtMs = nowMs + onAirMs + CLASS_C_SPACING_MS
    return { events, frame: { kind: 'downlink', downlink: item.downlink, dataRate: undefined, hasMore: false } }
  }

  /**
   * Sends in the receive window that opens now; a busy gateway leaves the frame to the next window.
   */
  #openWindow(windows: Windows, nowMs: number): Step {
    this.#windows = undefined
    const session = this.#session
    const heard = this.#heard
    if (session === undefined || heard === undefined) return { events: [], frame: undefined }
    const { radio, gateways, identity } = this.#settings
    const first = radio.region.firstWindow(heard.carrier)
    const carrier = windows.number === 1 ? first : radio.region.secondWindow
    const isData = windows.answers === 'uplink' && identity.deviceClass === 'A'
    const events = isData ? this.#discard(nowMs, first.dataRate) : []
    const item = isData ? this.#queue.next(carrier.dataRate.maximumPayloadBytes) : undefined
    if (item === undefined && !windows.mustAnswer) return { events, frame: undefined }

    const bytes = windows.answers === 'join-request' ? JOIN_ACCEPT_BYTES : (item?.downlink.bytes.length ?? 0)
    const by = heard.receptions.map(({ gateway }) => gateway)
    const gateway = gateways.send(by, nowMs, airtimeMs(carrier.dataRate, bytes))
    if (gateway === undefined && windows.number === 1) {
      this.#windows = { ...windows, number: 2, atMs: windows.atMs + RECEIVE_DELAY_MS }
      return { events, frame: undefined }
    }
    if (gateway === undefined) {
      const { fCntDown: fCnt } = session
      const fault = { code: 'DOWNLINK_GATEWAY', level: 'ERROR', description: 'COLLISION_PACKET', fCnt } as const
      return { events: item === undefined ? events : [...events, this.#fault(fault, nowMs)], frame: undefined }
    }
    if (windows.answers === 'join-request') return { events, frame: { kind: 'join-accept' } }
    if (item === undefined) session.fCntDown += 1
    else {
      const delaySeconds = (RECEIVE_DELAY_MS * windows.number) / 1000
      events.push(this.#sent(item, { gatewayId: gateway.gatewayId, carrier, delaySeconds }, nowMs))
    }
    const hasMore = isData && this.#queue.isFilled
    return { events, frame: { kind: 'downlink', downlink: item?.downlink, dataRate: windows.advice, hasMore } }
  }

  /** The downlink has its frame counter and was sent: publishes the gateway's confirmation. */
  #sent(
    item: QueueItem,
    how: { readonly gatewayId: string; readonly carrier: Carrier; readonly delaySeconds: number | undefined },
    nowMs: number,
  ): NetworkEvent {
    const { identity: device, radio, random } = this.#settings
    const fCntDown = this.#session?.fCntDown ?? 0
    if (this.#session !== undefined) this.#session.fCntDown += 1
    this.#queue.sent(fCntDown)
    return {
      kind: 'txack',
      device,
      atMs: nowMs,
      deduplicationId: this.#newId(),
      queueItemId: item.id,
      confirmed: item.downlink.confirmed,
      downlinkId: random.integer(0, 2 ** 32 - 1),
      fCntDown,
      power: radio.region.downlinkPower,
      ...how,
    }
  }

  #discard(nowMs: number, dataRate: DataRate): NetworkEvent[] {
    const { maximumPayloadBytes, dr } = dataRate
    return this.#queue.discard(nowMs, maximumPayloadBytes).map(({ item, because }: DiscardedItem) => {
      if (because === 'expired') {
        return this.#downlinkFault('DOWNLINK_EXPIRED', 'the downlink expired before it could be sent', nowMs, item.id)
      }
      const size = item.downlink.bytes.length
      const description = `payload of ${size} bytes exceeds the maximum of ${maximumPayloadBytes} at DR${dr}`
      const context = { item_size: String(size), max_payload_size: String(maximumPayloadBytes) }
      return this.#downlinkFault('DOWNLINK_PAYLOAD_SIZE', description, nowMs, item.id, context)
    })
  }

  #downlinkFault(
    code: FaultEvent['code'],
    description: string,
    nowMs: number,
    queueItemId: FaultEvent['queueItemId'],
    context: FaultEvent['context'] = {},
  ): FaultEvent {
    const fCnt = this.#session?.fCntDown ?? 0
    return this.#fault({ code, level: 'ERROR', description, fCnt, queueItemId, context }, nowMs)
  }

  #fault(fault: Pick<FaultEvent, 'code' | 'level' | 'description'> & Partial<FaultEvent>, nowMs: number): FaultEvent {
    const common = {
      kind: 'fault',
      device: this.#settings.identity,
      atMs: nowMs,
      deduplicationId: this.#newId(),
    } as const
    return { fCnt: 0, queueItemId: undefined, context: {}, ...common, ...fault }
  }

  #newSession(counter: HeardFrameCounter): NetworkSession {
    const { radio, random } = this.#settings
    const advice = new DataRateAdvice(radio.region)
    return { devAddr: `01${random.hex(3)}`, counter, advice, fCntDown: 0, isTold: false }
  }

  #newId(): string {
    return this.#settings.random.uuid()
  }
}
