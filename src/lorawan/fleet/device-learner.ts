/**
 * Learns from the uplinks of one device: its interval, its loss and its signal. It keeps a few
 * numbers, and no uplink.
 */
import type { UplinkRadio } from './uplink-radio.ts'

/** The learned facts. A member that is left out is not known yet. */
export interface Learned {
  readonly intervalSeconds?: number
  /** Percent, 0 to 100. */
  readonly lossPercent?: number
  readonly rssi?: number
  readonly snr?: number
  /** The mean of how far the SNR is above the need of the spreading factor, dB. */
  readonly marginDb?: number
  readonly weakSignal?: boolean
  readonly losingFrames?: boolean
}

/** The newest gaps between two uplinks, from which the interval is learned. */
const GAPS = 8
/** With fewer gaps, the interval is not known. */
const MINIMUM_GAPS = 4
const MAXIMUM_INTERVAL_SECONDS = 7 * 86_400
/** Frames of the window over which the loss is counted. At twice as many, the older half fades. */
const WINDOW_FRAMES = 50
/** With fewer frames, the loss is not known. */
const MINIMUM_FRAMES = 20
/** A device that loses this part of its frames is losing frames, until it loses half of it. */
const LOSING_PERCENT = 10
/**
 * More missing frames in a row are no loss on the air: the network server was away, or another node
 * heard them. If the device was away, its state tells so.
 */
const MAXIMUM_MISSING_IN_A_ROW = 64
/** A frame whose counter is so little behind came late, or again. */
const MAXIMUM_LATE_FRAMES = 16
/** A larger step is no rollover [LoRaWAN 1.0.2 §4.3.1.5, MAX_FCNT_GAP]. */
const MAXIMUM_STEP = 16_384
/** Below this margin a signal is weak, until it is `MARGIN_REST_DB` better. */
const WEAK_MARGIN_DB = 5
export const MARGIN_REST_DB = 3
/** The weight of the newest uplink in the margin, so that one bad uplink is no weak signal. */
const MARGIN_WEIGHT = 0.25

export class DeviceLearner {
  #lastAtMs: number | undefined = undefined
  #fCnt: number | undefined = undefined
  /** Uplinks since the last one that was read, without that one. */
  #unread = 0
  /** Seconds, the newest last. */
  readonly #gaps: number[] = []
  #sent = 0
  #arrived = 0
  #marginDb: number | undefined = undefined
  #isWeak = false
  #isLosing = false

  /** Uplinks have arrived that are not read. */
  passed(uplinks: number): void {
    this.#unread += uplinks
  }

  /** The device has joined: its frame counter begins anew, and its join is no gap. */
  joined(): void {
    this.#fCnt = undefined
    this.#lastAtMs = undefined
    this.#unread = 0
  }

  /** An uplink that arrived at this time, ms since 1970. */
  uplink(atMs: number, { fCnt, rssi, snr, marginDb }: UplinkRadio): Learned {
    const arrived = this.#unread + 1
    const step = fCnt === undefined ? undefined : this.#stepTo(fCnt)
    this.#learnGap(atMs, step ?? (fCnt === undefined ? arrived : undefined))
    this.#learnLoss(arrived, step)
    this.#unread = 0
    if (fCnt !== undefined && !(step !== undefined && step <= 0)) this.#fCnt = fCnt
    if (marginDb !== undefined) this.#learnMargin(marginDb)
    return {
      ...this.#interval(),
      ...this.#loss(),
      ...(rssi === undefined ? {} : { rssi }),
      ...(snr === undefined ? {} : { snr }),
      ...(this.#marginDb === undefined ? {} : { marginDb: this.#marginDb, weakSignal: this.#isWeak }),
    }
  }

  /**
   * The frames that the device has sent since the last one that was read; 0 or less for a frame
   * that came late or again. Undefined for the first frame, and for a counter that began anew.
   */
  #stepTo(fCnt: number): number | undefined {
    if (this.#fCnt === undefined) return undefined
    const step = fCnt - this.#fCnt
    if (step >= -MAXIMUM_LATE_FRAMES) return step <= MAXIMUM_STEP ? step : undefined
    // Some network servers tell the 16 bits of the frame, others all 32.
    const around = step + (this.#fCnt <= 0xffff ? 0x1_0000 : 0x1_0000_0000)
    return around <= MAXIMUM_STEP ? around : undefined
  }

  /** A gap that lost frames made is divided by them: the device has kept its interval. */
  #learnGap(atMs: number, frames: number | undefined): void {
    if (frames !== undefined && frames <= 0) return
    const lastAtMs = this.#lastAtMs
    this.#lastAtMs = atMs
    if (lastAtMs === undefined || frames === undefined || atMs <= lastAtMs) return
    if (this.#gaps.length === GAPS) this.#gaps.shift()
    this.#gaps.push(Math.min((atMs - lastAtMs) / 1000 / frames, MAXIMUM_INTERVAL_SECONDS))
  }

  #learnLoss(arrived: number, step: number | undefined): void {
    if (step === undefined || step - arrived > MAXIMUM_MISSING_IN_A_ROW) return
    this.#sent += Math.max(step, 0)
    // A frame that came again was counted before.
    this.#arrived = Math.min(this.#arrived + (step === 0 ? arrived - 1 : arrived), this.#sent)
    if (this.#sent < 2 * WINDOW_FRAMES) return
    this.#arrived = (this.#arrived * WINDOW_FRAMES) / this.#sent
    this.#sent = WINDOW_FRAMES
  }

  #learnMargin(marginDb: number): void {
    const before = this.#marginDb ?? marginDb
    this.#marginDb = before + (marginDb - before) * MARGIN_WEIGHT
    this.#isWeak = this.#marginDb < WEAK_MARGIN_DB + (this.#isWeak ? MARGIN_REST_DB : 0)
  }

  /**
   * The second largest gap. The largest one may be an outage; a device that sends several uplinks
   * at a time rests in more than one of its gaps.
   */
  #interval(): Pick<Learned, 'intervalSeconds'> {
    if (this.#gaps.length < MINIMUM_GAPS) return {}
    const [, second = 0] = this.#gaps.toSorted((one, other) => other - one)
    return { intervalSeconds: Math.max(1, Math.round(second)) }
  }

  #loss(): Pick<Learned, 'lossPercent' | 'losingFrames'> {
    if (this.#sent < MINIMUM_FRAMES) return {}
    const lossPercent = Math.round((1 - this.#arrived / this.#sent) * 1000) / 10
    this.#isLosing = lossPercent >= (this.#isLosing ? LOSING_PERCENT / 2 : LOSING_PERCENT)
    return { lossPercent, losingFrames: this.#isLosing }
  }
}
