/** Writes times as people say them. */
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const STEPS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** Writes `3 minutes ago`, `in 2 days`, and `just now` within half a minute. */
export function relativeTime(atMs: number, nowMs: number): string {
  const distanceMs = atMs - nowMs
  for (const [unit, stepMs] of STEPS) {
    if (Math.abs(distanceMs) >= stepMs * 0.95) return RELATIVE.format(Math.round(distanceMs / stepMs), unit)
  }
  return Math.abs(distanceMs) < 30_000 ? 'just now' : RELATIVE.format(Math.round(distanceMs / 1000), 'second')
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** Writes `14:03:59`. */
export function clockTime(atMs: number): string {
  return CLOCK.format(atMs)
}

/** Writes `21 Nov 2026, 14:03:59`. */
export function moment(atMs: number): string {
  return MOMENT.format(atMs)
}
