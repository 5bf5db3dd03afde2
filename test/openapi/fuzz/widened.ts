/** The document, widened to everything that the service accepts. */
import { ALSO_ACCEPTS } from '../../../src/http/api/schema-keywords.ts'

/**
 * A copy of the document in which the schema allows the values of `x-also-accepts`. A generated
 * client need not know these values, and accepting them is no fault of the service.
 */
export function widened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(widened)
  if (typeof value !== 'object' || value === null) return value
  const { [ALSO_ACCEPTS]: others, ...node } = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === ALSO_ACCEPTS ? member : widened(member)]),
  )
  if (!Array.isArray(others)) return node
  return { anyOf: [node, ...others.map((type: unknown) => TYPES[String(type)])] }
}

/** A larger number would already have lost its last digits in the client's JSON. */
const TYPES: Readonly<Record<string, object>> = {
  object: { type: 'object' },
  /** A parameter without a value counts as absent. */
  empty: { type: 'string', maxLength: 0 },
  integer: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
}
