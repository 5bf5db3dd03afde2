/**
 * Reads members of JSON that somebody else wrote. A member that is missing, inherited or of another
 * type reads as undefined.
 */

/** An object of foreign JSON; its members may be anything. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The object whose JSON text the bytes are, in UTF-8; undefined for anything else. */
export function parseObject(bytes: Buffer): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    return undefined
  }
}

/** Whether the value is an object and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value, if it is an object and no array. */
export function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
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
 * The number of a member. The number may also be written as a text, as the JSON of Protocol Buffers
 * writes 64-bit numbers.
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

/** The value of the object's own member; inherited members (`__proto__`) are not read. */
export function memberOf(object: JsonObject | undefined, member: string): unknown {
  return object !== undefined && Object.hasOwn(object, member) ? object[member] : undefined
}
