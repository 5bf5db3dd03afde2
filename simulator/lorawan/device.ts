/**
 * A LoRaWAN 1.0.3 device of class A or C that joins over the air, with gateways instead of a radio.
 */
import { randomInt } from 'node:crypto'
import type { Region } from '../region.ts'
import { region } from '../region.ts'
import { MAXIMUM_FOPTS_BYTES, decodeDownlink, decodeJoinAccept, encodeJoinRequest, encodeUplink } from './frames.ts'
import type { DownlinkFrame, JoinAccept, NotTaken, Session } from './frames.ts'
import type { DownlinkItem, Reception } from './gateway-messages.ts'
import { answerMacCommands, initialMacSettings, parseMacCommands } from './mac-commands.ts'
import type { MacAnswer, MacCommand, MacSettings } from './mac-commands.ts'

/** The device's radio; a `LorawanGateway` can serve as one. */
export interface Radio {
  /** Sends a frame; `receiver` gets the answers to it. */
  transmit(phyPayload: Buffer, reception: Reception, receiver: (item: DownlinkItem) => void): Promise<void>
  /** Hears downlinks outside of receive windows. Returns the function that stops it. */
  listen(receiver: (item: DownlinkItem) => void): () => void
}

export interface DeviceSettings {
  /** 16 hexadecimal digits, as `joinEui`. */
  readonly devEui: string
  readonly joinEui: string
  /** 32 hexadecimal digits. ChirpStack v4 calls the key of LoRaWAN 1.0 the "network key". */
  readonly appKey: string
  readonly deviceClass: 'A' | 'C'
  /** The gateways; all of them hear the device. */
  readonly gateways: readonly Radio[]
  /** Default: EU868. */
  readonly region?: Region
  /** The signal strength that the gateways report, in dBm. Default: -60. */
  readonly rssi?: number
  /** The Signal to Noise Ratio that the gateways report, in dB. Default: 9.5. */
  readonly snr?: number
}

/** A frame of the network server that the device accepted. */
export interface ReceivedFrame extends Omit<DownlinkFrame, 'macCommands'> {
  readonly macCommands: readonly MacCommand[]
  /** False for a frame that a class C device got outside of its receive windows. */
  readonly isAnswer: boolean
}

/** The most frames that a device remembers; beyond it, the oldest is dropped. */
const MAXIMUM_FRAMES = 1000
/**
 * The most bytes of MAC answers that wait for an uplink; a network server asks again for a dropped
 * answer.
 */
const MAXIMUM_ANSWER_BYTES = 60
const WAIT_MS = 10_000
/**
 * The number of channels that a device knows before it has joined; others come with the join accept
 * or with MAC commands.
 */
const OWN_CHANNELS: Readonly<Record<Region['id'], number>> = { EU868: 3, US915: 8, AS923: 2 }

/** A device. Its radio listens from the first `join` until `close`. */
export class LorawanDevice {
  readonly devEui: string
  readonly deviceClass: 'A' | 'C'
  /**
   * The settings that MAC commands change. A test may change them, too, for example the data rate.
   */
  readonly mac: MacSettings
  /** Set it to false, and the device hears no downlink from then on. */
  isHearing = true
  /** Set it to false, and the device acknowledges no confirmed downlink from then on. */
  isAcknowledging = true
  /** Set it to false, and the device asks the network server not to control its data rate. */
  isAdaptive = true
  /** The frame counter of the next uplink, 32 bits. */
  fCntUp = 0
  readonly #settings: DeviceSettings
  readonly #region: Region
  readonly #appKey: Buffer
  readonly #stops: (() => void)[] = []
  readonly #watchers = new Set<(frame: ReceivedFrame) => void>()
  readonly #frames: ReceivedFrame[] = []
  readonly #notTaken: NotTaken[] = []
  #answers: MacAnswer[] = []
  #joining: { readonly devNonce: number; readonly accept: (accept: JoinAccept) => void } | undefined
  #session: Session | undefined
  #fCntDown = -1
  #isAcknowledgementDue = false
  #latest: Buffer | undefined
  #channel = 0

  constructor(settings: DeviceSettings) {
    this.#settings = settings
    this.devEui = settings.devEui.toLowerCase()
    this.deviceClass = settings.deviceClass
    this.#region = settings.region ?? region('EU868')
    this.#appKey = Buffer.from(settings.appKey, 'hex')
    this.mac = initialMacSettings(this.#region)
  }

  /** Undefined until the device has joined. */
  get session(): Session | undefined {
    return this.#session
  }

  /** All accepted frames, in order. */
  get frames(): readonly ReceivedFrame[] {
    return this.#frames
  }

  /** The frames that an application has sent, in order. */
  get received(): readonly ReceivedFrame[] {
    return this.#frames.filter(({ fPort }) => fPort !== undefined && fPort > 0)
  }

  /**
   * The reasons why frames were not accepted; a frame that comes a second time is `repeated_fcnt`.
   */
  get notTaken(): readonly NotTaken[] {
    return this.#notTaken
  }

  /**
   * Asks to join and resolves when the accept came; the session begins anew. Rejects if none comes
   * in time. The default DevNonce is random.
   */
  async join({ devNonce = randomInt(2 ** 16), timeoutMs = WAIT_MS } = {}): Promise<void> {
    this.#listen()
    const { promise, resolve, reject } = Promise.withResolvers<JoinAccept>()
    this.#joining = { devNonce, accept: resolve }
    const request = encodeJoinRequest({
      joinEui: Buffer.from(this.#settings.joinEui, 'hex'),
      devEui: Buffer.from(this.devEui, 'hex'),
      devNonce,
      appKey: this.#appKey,
    })
    const timer = setTimeout(() => reject(new Error(`${this.devEui}: no join accept in ${timeoutMs} ms`)), timeoutMs)
    try {
      // The time limit also holds if the broker is away.
      const [accept] = await Promise.all([promise, this.#transmit(request)])
      this.#begin(accept)
    } finally {
      clearTimeout(timer)
      this.#joining = undefined
    }
  }

  /**
   * Sends application data. Resolves with the uplink's frame counter when the gateways' broker has
   * the frame.
   */
  async uplink(fPort: number, payload: Uint8Array, { isConfirmed = false } = {}): Promise<number> {
    return await this.#send(fPort, Buffer.from(payload), isConfirmed)
  }

  /**
   * Sends a frame without a payload: to acknowledge, to answer MAC commands or to ask for
   * downlinks.
   */
  async emptyUplink(): Promise<number> {
    return await this.#send(undefined, Buffer.alloc(0), false)
  }

  /** Sends the last frame again, bit by bit the same. */
  async repeat(): Promise<void> {
    if (this.#latest === undefined) throw new Error(`${this.devEui} has sent nothing yet`)
    await this.#transmit(this.#latest)
  }

  /** Calls back for each accepted frame. Returns the function that stops it. */
  onFrame(watcher: (frame: ReceivedFrame) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The next frame of this kind from now on; rejects if none comes in time. */
  async nextFrame(
    isWanted: (frame: ReceivedFrame) => boolean = () => true,
    timeoutMs: number = WAIT_MS,
  ): Promise<ReceivedFrame> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedFrame>()
    const stop = this.onFrame((frame) => {
      if (isWanted(frame)) resolve(frame)
    })
    const timer = setTimeout(() => reject(new Error(`${this.devEui}: no such frame in ${timeoutMs} ms`)), timeoutMs)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      stop()
    }
  }

  /** Switches the radio off. The session stays; a `join` switches the radio on again. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop()
  }

  #listen(): void {
    if (this.deviceClass !== 'C' || this.#stops.length > 0) return
    for (const gateway of this.#settings.gateways) this.#stops.push(gateway.listen((item) => this.#hear(item)))
  }

  #begin({ session, rx1DataRateOffset, rx2DataRate, rxDelaySeconds, channels }: JoinAccept): void {
    this.#session = session
    this.fCntUp = 0
    this.#fCntDown = -1
    this.#answers = []
    this.#isAcknowledgementDue = false
    const { dataRate, battery, margin } = this.mac
    Object.assign(this.mac, initialMacSettings(this.#region), { dataRate, battery, margin })
    Object.assign(this.mac, { rx1DataRateOffset, rx2DataRate, rxDelaySeconds })
    for (const [place, frequency] of channels.entries()) this.mac.channels.set(3 + place, frequency)
  }

  async #send(fPort: number | undefined, payload: Buffer, isConfirmed: boolean): Promise<number> {
    if (this.#session === undefined) throw new Error(`${this.devEui} has not joined`)
    const fCnt = this.fCntUp
    this.fCntUp += 1
    const isAcknowledgement = this.#isAcknowledgementDue
    this.#isAcknowledgementDue = false
    const fOpts = this.#takeAnswers()
    const { isAdaptive } = this
    const frame = { fCnt, fPort, payload, isConfirmed, isAdaptive, isAcknowledgement, fOpts }
    this.#latest = encodeUplink(this.#session, frame)
    await this.#transmit(this.#latest)
    return fCnt
  }

  /** Takes the MAC answers that fit beside the payload. */
  #takeAnswers(): Buffer {
    const taken: Buffer[] = []
    const kept: MacAnswer[] = []
    let length = 0
    for (const answer of this.#answers) {
      const fits = length + answer.bytes.length <= MAXIMUM_FOPTS_BYTES
      if (fits) {
        taken.push(answer.bytes)
        length += answer.bytes.length
      }
      if (!fits || answer.isRepeated) kept.push(answer)
    }
    this.#answers = kept
    return Buffer.concat(taken)
  }

  async #transmit(phyPayload: Buffer): Promise<void> {
    const { dataRates, channels } = this.#region
    const dataRate = dataRates.find(({ dr }) => dr === this.mac.dataRate) ?? dataRates[0]
    const known = [...channels.slice(0, OWN_CHANNELS[this.#region.id]), ...this.mac.channels.values()]
    const channel = this.#channel % known.length
    const frequency = known[channel] ?? channels[0]
    this.#channel += 1
    const { spreadingFactor, bandwidth } = dataRate
    const { rssi = -60, snr = 9.5, gateways } = this.#settings
    const reception = { frequency, bandwidth, spreadingFactor, channel, rssi, snr }
    await Promise.all(gateways.map((gateway) => gateway.transmit(phyPayload, reception, (item) => this.#hear(item))))
  }

  #hear(item: DownlinkItem): void {
    if (!this.isHearing) return
    if (this.#joining !== undefined) {
      const accept = decodeJoinAccept(item.phyPayload, this.#appKey, this.#joining.devNonce)
      if (accept !== undefined) {
        this.#joining.accept(accept)
        return
      }
    }
    if (this.#session === undefined || !isForAddress(item.phyPayload, this.#session.devAddr)) return
    const frame = decodeDownlink(item.phyPayload, this.#session, this.#fCntDown)
    if (typeof frame === 'string') keep(this.#notTaken, frame)
    else this.#take(frame, item.delayMs !== undefined)
  }

  #take(frame: DownlinkFrame, isAnswer: boolean): void {
    this.#fCntDown = frame.fCnt
    // The network server was heard, so the answers that were repeated until then have arrived.
    if (isAnswer) this.#answers = this.#answers.filter(({ isRepeated }) => !isRepeated)
    const macCommands = parseMacCommands(frame.macCommands)
    const dataRates = this.#region.dataRates.map(({ dr }) => dr)
    this.#answer(answerMacCommands(macCommands, this.mac, dataRates))
    const received: ReceivedFrame = { ...frame, macCommands, isAnswer }
    keep(this.#frames, received)
    if (frame.isConfirmed && this.isAcknowledging) this.#acknowledge()
    for (const watcher of this.#watchers) watcher(received)
  }

  #answer(answers: readonly MacAnswer[]): void {
    let length = this.#answers.reduce((sum, { bytes }) => sum + bytes.length, 0)
    for (const answer of answers) {
      length += answer.bytes.length
      if (length <= MAXIMUM_ANSWER_BYTES) this.#answers.push(answer)
    }
  }

  /** Class A acknowledges with its next uplink; class C need not wait for the next uplink. */
  #acknowledge(): void {
    this.#isAcknowledgementDue = true
    // A gateway that can't hand the answer over has reported the fault; the network server then
    // gets no answer.
    if (this.deviceClass === 'C') this.emptyUplink().catch(() => {})
  }
}

/** A cheap check before the expensive ones, for every class C device hears every frame. */
function isForAddress(phyPayload: Buffer, devAddr: Buffer): boolean {
  return phyPayload.length >= 12 && phyPayload.readUInt32LE(1) === devAddr.readUInt32BE(0)
}

function keep<T>(list: T[], item: T): void {
  list.push(item)
  if (list.length > MAXIMUM_FRAMES) list.shift()
}
