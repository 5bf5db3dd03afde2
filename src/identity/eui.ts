/**
 * The one spelling of a DevEUI: 16 hexadecimal digits in lower case. Takes any case and an optional `0x` in front;
 * `undefined` when the text is no DevEUI.
 */
export function parseDevEui(text: string): string | undefined {
  // The length first: a hostile megabyte must not reach the expression.
  if (text.length !== 16 && text.length !== 18) return undefined
  return /^(?:0[xX])?([0-9a-fA-F]{16})$/.exec(text)?.[1]?.toLowerCase()
}
