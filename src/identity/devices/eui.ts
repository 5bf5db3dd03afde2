/**
 * The pattern of a DevEUI, for JSON Schema: 16 hexadecimal digits in any case, with an optional
 * `0x` in front.
 */
export const DEV_EUI_PATTERN = '^(?:0[xX])?[0-9a-fA-F]{16}$'

const DEV_EUI = new RegExp(DEV_EUI_PATTERN)

/**
 * The one spelling of a DevEUI: 16 hexadecimal digits in lower case. Takes any case and an optional
 * `0x` in front; `undefined` when the text is no DevEUI.
 */
export function parseDevEui(text: string): string | undefined {
  // The length first: a hostile megabyte must not reach the expression.
  if (text.length !== 16 && text.length !== 18) return undefined
  return DEV_EUI.test(text) ? text.slice(-16).toLowerCase() : undefined
}

/** The separators between the digits of a DevEUI on labels and in spreadsheets. */
const SEPARATORS = /[\s:.-]/g

/**
 * The longest spelling that is read, in characters: two digits and a separator eight times, with
 * blanks around.
 */
const LONGEST_WRITTEN = 64

/**
 * The one spelling of a DevEUI that a person or a spreadsheet wrote: besides what `parseDevEui`
 * takes, with blanks, `-`, `:` or `.` between its digits, an apostrophe in front, or as the formula
 * `="..."`. `undefined` when the text is no DevEUI.
 */
export function readWrittenDevEui(text: string): string | undefined {
  if (text.length > LONGEST_WRITTEN) return undefined
  const written = text.trim()
  const plain = /^="(.*)"$/.exec(written)?.[1] ?? written.replace(/^['\u2019]/, '')
  return parseDevEui(plain.replaceAll(SEPARATORS, ''))
}
