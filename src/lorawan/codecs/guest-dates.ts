/**
 * The texts of dates as other engines write them in the locale `en-US`: `1/31/2026, 1:02:44 PM`.
 * The engine has no other locale, and its own form of this one has zeros in front. As with
 * `guestDriver`, the text of the function goes into the engine.
 */

// oxlint-disable unicorn/consistent-function-scoping -- one text goes into the engine

/** Replaces the functions of `Date` that write such texts. Locales and options are ignored. */
export function guestDates(): void {
  const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`)
  const dayOf = (date: Date): string => `${date.getMonth() + 1}/${date.getDate()}/${date.getFullYear()}`
  const timeOf = (date: Date): string => {
    const hours = date.getHours()
    const minutes = `${two(date.getMinutes())}:${two(date.getSeconds())}`
    return `${hours % 12 === 0 ? 12 : hours % 12}:${minutes} ${hours < 12 ? 'AM' : 'PM'}`
  }
  const define = (name: string, write: (date: Date) => string): void => {
    const value = function (this: Date): string {
      return Number.isNaN(this.getTime()) ? 'Invalid Date' : write(this)
    }
    // oxlint-disable-next-line no-extend-native -- the engine's own
    Object.defineProperty(Date.prototype, name, { value, writable: true, configurable: true })
  }
  define('toLocaleString', (date) => `${dayOf(date)}, ${timeOf(date)}`)
  define('toLocaleDateString', dayOf)
  define('toLocaleTimeString', timeOf)
}
