/**
 * The outcomes of questions and changes to the registry: results and refusals, and pages of lists.
 */
import type { ApiKeyRight, MakerRoles } from './api-key-rights.ts'
import type { Reach } from './reach.ts'

/** The part of a list that is asked for. */
export interface Page {
  /** Items at most; 0 for the count alone. A limit above 1,000 counts as 1,000. */
  readonly limit: number
  /** Items that are skipped. */
  readonly offset: number
  /**
   * Only items that contain this text, in any case. Every character stands for itself: `%` and `_`
   * are no wildcards.
   */
  readonly search?: string
}

/** One page of a list. */
export interface Listed<T> {
  /** The number of items that match, whatever the limit and the offset are. */
  readonly totalCount: number
  readonly items: readonly T[]
}

/**
 * The user who reads. A global admin sees everything; other users see what belongs to their
 * organizations.
 */
export interface Viewer {
  readonly userId: string
  readonly isAdmin: boolean
  /**
   * True when the machine's operator acts in the user's place, by the command line on the data
   * directory.
   */
  readonly isOperator?: boolean
  /**
   * The API key that reads. `userId` is then its maker, and `isAdmin` is true for a key of the
   * whole deployment alone. The key sees what belongs to its organization, within its reach.
   */
  readonly apiKey?: ViewingKey
}

/** An API key, as far as its rights are concerned. */
export interface ViewingKey {
  readonly id: string
  /** `null` for a key of the whole deployment. */
  readonly organizationId: string | null
  readonly rights: readonly ApiKeyRight[]
  /** Undefined: no restriction. */
  readonly scope: Reach | undefined
  /** How its maker stands towards the organization now. */
  readonly makerRoles: MakerRoles
}

/** The author of a change, for the audit. A `userId` of `null` is the service itself. */
export interface Actor {
  readonly userId: string | null
  /**
   * True when the machine's operator acts in the user's place. The audit then names the operator.
   */
  readonly isOperator?: boolean
  /** The API key that acts. The audit then names the key, and not its maker. */
  readonly apiKey?: { readonly id: string }
}

/** The kind of a refusal, named like the gRPC codes that the HTTP interface answers with. */
export type RefusalCode =
  | 'invalid_argument'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'unauthenticated'

/** An expected "no". */
export interface Refusal {
  readonly ok: false
  readonly code: RefusalCode
  /** For a person to read. */
  readonly message: string
  /** For programs: stable, in snake_case, for example `not_a_member`. */
  readonly reason: string
}

/** The outcome of a question or a change that may be refused. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refusal

/** The outcome of a change that succeeded and has no value. */
export const done: Result<void> = { ok: true, value: undefined }

/** A success with its value. */
export function granted<T>(value: T): Result<T> {
  return { ok: true, value }
}

/** A refusal. `reason` is part of the interface: it must not change. */
export function refuse(code: RefusalCode, reason: string, message: string): Refusal {
  return { ok: false, code, message, reason }
}

/** The refusal for something that is not there. Clients match on its text. */
export function notFound(reason: string): Refusal {
  return refuse('not_found', reason, 'object does not exist')
}

/** The refusal for something that is there already. Clients match on its text. */
export function alreadyExists(reason: string): Refusal {
  return refuse('already_exists', reason, 'object already exists')
}

/** Items of a page at most. Bounds the time and the memory of a call. */
const MAXIMUM_PAGE_LIMIT = 1000

/** The page with safe numbers: whole, not negative, within the bound. */
export function boundedPage(page: Page): { readonly limit: number; readonly offset: number } {
  return { limit: Math.min(wholeNumber(page.limit), MAXIMUM_PAGE_LIMIT), offset: wholeNumber(page.offset) }
}

function wholeNumber(value: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 0), Number.MAX_SAFE_INTEGER) : 0
}
