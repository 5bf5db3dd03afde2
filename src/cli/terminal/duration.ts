const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const

/**
 * A lifetime as people write it, `90`, `90s`, `15m`, `1h`, `7d` or `2w`, in seconds; another text
 * as it is, for the service to refuse.
 */
export function secondsOf(text: string): string {
  const [, digits, unit = 's'] = /^(\d{1,9})([smhdw])?$/.exec(text) ?? []
  return digits === undefined ? text : String(Number(digits) * SECONDS[unit as keyof typeof SECONDS])
}
