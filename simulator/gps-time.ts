/** GPS time counts from 1980-01-06, without leap seconds, of which there have been 18 since. */
const GPS_EPOCH_MS = Date.UTC(1980, 0, 6)
const LEAP_SECONDS_MS = 18_000

/** Milliseconds of GPS time, from milliseconds since 1970. */
export function gpsMs(ms: number): number {
  return ms - GPS_EPOCH_MS + LEAP_SECONDS_MS
}
