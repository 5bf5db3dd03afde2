/** Optional members of an object literal, under the compiler's `exactOptionalPropertyTypes`. */

/** The members without those that are undefined: `{ id, ...given({ name, note }) }`. */
export function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const present: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) present[name] = value
  return present as { [Name in keyof Members]?: Exclude<Members[Name], undefined> }
}
