/**
 * Reading members of JSON that somebody else wrote: whatever is missing, of another type or
 * inherited is undefined.
 */
export type JsonObject = Readonly<Record<string, unknown>>

/** The object that the bytes are; undefined for anything else. */
export function parseObject(bytes: Buffer): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    return undefined
  }
}

/** The value, if it is an object and no array. */
export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** The object at the end of a path of members. */
export function objectAt(object: JsonObject | undefined, ...path: readonly string[]): JsonObject | undefined {
  let at = object
  for (const member of path) at = objectOf(memberOf(at, member))
  return at
}

/** The text of a member. */
export function textAt(object: JsonObject | undefined, member: string): string | undefined {
  const value = memberOf(object, member)
  return typeof value === 'string' ? value : undefined
}

/**
 * The number of a member, also where it is written as a text, as the JSON of Protocol Buffers does
 * for 64 bits.
 */
export function numberAt(object: JsonObject | undefined, member: string): number | undefined {
  const value = memberOf(object, member)
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** The elements of a member that are objects. */
export function objectsAt(object: JsonObject | undefined, member: string): readonly JsonObject[] {
  const value = memberOf(object, member)
  return Array.isArray(value) ? value.map(objectOf).filter((element) => element !== undefined) : []
}

/** The elements of a member that are texts. */
export function textsAt(object: JsonObject | undefined, member: string): readonly string[] {
  const value = memberOf(object, member)
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : []
}

/** The member's own value: what `__proto__` might bring is never seen. */
export function memberOf(object: JsonObject | undefined, member: string): unknown {
  return object !== undefined && Object.hasOwn(object, member) ? object[member] : undefined
}
