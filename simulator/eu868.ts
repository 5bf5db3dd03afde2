/** What the EU 863-870 MHz band means for the simulated devices (RP002-1.0.4 §2.1). */
import type { Random } from './random.ts'

/** Uplink channels in Hz: the three that each device has, and five that a join adds. */
const CHANNELS: readonly [number, ...number[]] = [
  868_100_000, 868_300_000, 868_500_000, 867_100_000, 867_300_000, 867_500_000, 867_700_000, 867_900_000,
]

/** The Signal to Noise Ratio that each data rate from DR0 (SF12) to DR5 (SF7) still needs, in dB. */
const REQUIRED_SNR = [-20, -17.5, -15, -12.5, -10, -7.5] as const

/** The most application data in one frame at DR0 to DR5, in bytes (column N of the band's table). */
const MAXIMUM_PAYLOAD_BYTES = [51, 51, 51, 115, 242, 242] as const

/** What adaptive data rate keeps above the required Signal to Noise Ratio, in dB. */
const INSTALLATION_MARGIN = 10

/** How long after an uplink the first receive window of a class A device opens. */
export const RECEIVE_DELAY_MS = 1000

export function pickChannel(random: Random): number {
  return random.pick(CHANNELS)
}

/** The fastest data rate, 0 to 5, that leaves the installation margin at this Signal to Noise Ratio. */
export function dataRateFor(snr: number): number {
  for (let dr = 5; dr > 0; dr -= 1) {
    if (snr - (REQUIRED_SNR[dr] ?? 0) >= INSTALLATION_MARGIN) return dr
  }
  return 0
}

/** How far a signal is above what its data rate needs, in dB: the margin of a status. */
export function marginOf(snr: number, dr: number): number {
  return Math.max(-32, Math.min(31, Math.round(snr - (REQUIRED_SNR[dr] ?? REQUIRED_SNR[0]))))
}

/** The most application data of one downlink at a data rate of 0 to 5, in bytes. */
export function maximumPayloadBytes(dr: number): number {
  return MAXIMUM_PAYLOAD_BYTES[dr] ?? MAXIMUM_PAYLOAD_BYTES[0]
}

/** True where a gateway can still hear a signal of this strength. */
export function isAudible(snr: number): boolean {
  return snr >= REQUIRED_SNR[0]
}
