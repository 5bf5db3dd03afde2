/** Writes amounts as people read them. */
const WHOLE = new Intl.NumberFormat('en')
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const RATE = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const SIZE = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** Writes `1,234`, and from 100,000 on `123.5K`. */
export function counted(value: number | string): string {
  const number = Number(value)
  return number < 100_000 ? WHOLE.format(number) : SHORT.format(number)
}

/** Writes `3.2/s`, and `0/s` for zero. */
export function rate(perSecond: number): string {
  const rounded = perSecond < 100 ? RATE.format(perSecond) : counted(Math.round(perSecond))
  return `${rounded}/s`
}

/** Writes `1.23 MB`, by thousands. */
export function size(bytes: number | string): string {
  let value = Number(bytes)
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${SIZE.format(value)} ${UNITS[unit] ?? ''}`
}
