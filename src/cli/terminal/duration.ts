/** Durations as people write them. */
const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const

/**
 * The seconds of a duration: `90`, `90s`, `15m`, `1h`, `7d` or `2w`. Any other text is returned as
 * it is, so that the service refuses it.
 */
export function secondsOf(text: string): string {
  const [, digits, unit = 's'] = /^(\d{1,9})([smhdw])?$/.exec(text) ?? []
  return digits === undefined ? text : String(Number(digits) * SECONDS[unit as keyof typeof SECONDS])
}
