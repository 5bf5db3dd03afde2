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

/** What a device has in the place of a radio; a `LorawanGateway` is one. */
export interface Radio {
  /** Sends a frame; `receiver` gets what answers it. */
  transmit(phyPayload: Buffer, reception: Reception, receiver: (item: DownlinkItem) => void): Promise<void>
  /** Hears what is sent outside of receive windows. Gives back how to stop. */
  listen(receiver: (item: DownlinkItem) => void): () => void
}

export interface DeviceSettings {
  /** 16 hexadecimal digits, as `joinEui`. */
  readonly devEui: string
  readonly joinEui: string
  /** 32 hexadecimal digits. ChirpStack v4 calls the key of LoRaWAN 1.0 the "network key". */
  readonly appKey: string
  readonly deviceClass: 'A' | 'C'
  /** All of them hear the device. */
  readonly gateways: readonly Radio[]
  /** EU868 where it is left out. */
  readonly region?: Region
  /** What the gateways say of its signal; -60 dBm and 9.5 dB where they are left out. */
  readonly rssi?: number
  readonly snr?: number
}

/** A frame of the network server that the device took. */
export interface ReceivedFrame extends Omit<DownlinkFrame, 'macCommands'> {
  readonly macCommands: readonly MacCommand[]
  /** False for a frame to a class C device outside of its receive windows. */
  readonly isAnswer: boolean
}

/** The frames that a device remembers; the oldest goes. */
const MAXIMUM_FRAMES = 1000
/**
 * MAC answers that wait for an uplink, in bytes; a network server asks again for what was dropped.
 */
const MAXIMUM_ANSWER_BYTES = 60
const WAIT_MS = 10_000
/**
 * The channels that a device knows before it has joined; the others come with the accept or with
 * MAC commands.
 */
const OWN_CHANNELS: Readonly<Record<Region['id'], number>> = { EU868: 3, US915: 8, AS923: 2 }

/** The radio listens from the first `join` on, until `close`. */
export class LorawanDevice {
  readonly devEui: string
  readonly deviceClass: 'A' | 'C'
  /** What MAC commands have set; may be changed, the data rate for one. */
  readonly mac: MacSettings
  /** False for a device that hears no downlink from now on. */
  isHearing = true
  /** False for a device that acknowledges no confirmed downlink from now on. */
  isAcknowledging = true
  /** False for a device that asks not to be told its data rate. */
  isAdaptive = true
  /** Of the next uplink, 32 bits. */
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

  /** All frames that were taken, in order. */
  get frames(): readonly ReceivedFrame[] {
    return this.#frames
  }

  /** The frames that an application has sent, in order. */
  get received(): readonly ReceivedFrame[] {
    return this.#frames.filter(({ fPort }) => fPort !== undefined && fPort > 0)
  }

  /** Why frames were not taken; a frame that comes a second time is `repeated_fcnt`. */
  get notTaken(): readonly NotTaken[] {
    return this.#notTaken
  }

  /**
   * Asks to join and resolves with the accept; everything of the session begins anew. Rejects when
   * none comes in time. A DevNonce that is not given is random.
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
      // A broker that is away must not outlast the time either.
      const [accept] = await Promise.all([promise, this.#transmit(request)])
      this.#begin(accept)
    } finally {
      clearTimeout(timer)
      this.#joining = undefined
    }
  }

  /**
   * Sends application data; resolved when the gateways' broker has it. The frame counter of the
   * uplink.
   */
  async uplink(fPort: number, payload: Uint8Array, { isConfirmed = false } = {}): Promise<number> {
    return await this.#send(fPort, Buffer.from(payload), isConfirmed)
  }

  /**
   * Sends a frame without a payload, to acknowledge, to answer MAC commands or to ask for
   * downlinks.
   */
  async emptyUplink(): Promise<number> {
    return await this.#send(undefined, Buffer.alloc(0), false)
  }

  /** Sends the last frame once more, bit by bit. */
  async repeat(): Promise<void> {
    if (this.#latest === undefined) throw new Error(`${this.devEui} has sent nothing yet`)
    await this.#transmit(this.#latest)
  }

  /** Calls back for each frame that is taken. Gives back how to stop. */
  onFrame(watcher: (frame: ReceivedFrame) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The next frame of this kind from now on; rejects when none comes in time. */
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

  /** Switches the radio off; the session stays, and a `join` switches it on again. */
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

  /** The MAC answers that fit beside the payload. */
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
    // What was repeated until the network server was heard has arrived.
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

  /** Class A acknowledges with its next uplink; class C need not wait for one. */
  #acknowledge(): void {
    this.#isAcknowledgementDue = true
    // A gateway that can't hand the answer over has told of it; the network server then goes
    // without.
    if (this.deviceClass === 'C') this.emptyUplink().catch(() => {})
  }
}

/** What costs nothing, for every class C device hears every frame. */
function isForAddress(phyPayload: Buffer, devAddr: Buffer): boolean {
  return phyPayload.length >= 12 && phyPayload.readUInt32LE(1) === devAddr.readUInt32BE(0)
}

function keep<T>(list: T[], item: T): void {
  list.push(item)
  if (list.length > MAXIMUM_FRAMES) list.shift()
}
