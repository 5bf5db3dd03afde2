/** Which part of a list is asked for. */
export interface Page {
  /** At most so many items, 0 for the count alone. More than 1,000 counts as 1,000. */
  readonly limit: number
  /** So many items are skipped. */
  readonly offset: number
  /**
   * Only items that contain this text, in any case. Every character stands for itself: `%` and `_`
   * are no wildcards.
   */
  readonly search?: string
}

/** One page of a list. */
export interface Listed<T> {
  /** How many items match, whatever the limit and the offset are. */
  readonly totalCount: number
  readonly items: readonly T[]
}

/**
 * Who reads. A global admin sees everything; others see what the organizations that they are
 * members of own.
 */
export interface Viewer {
  readonly userId: string
  readonly isAdmin: boolean
  /**
   * The machine's operator acts in this user's place: by the command line, which has the data
   * directory.
   */
  readonly isOperator?: boolean
}

/** Who changes something, for the audit. `null` is the service itself. */
export interface Actor {
  readonly userId: string | null
  /** The audit tells of the operator then, and not of the user. */
  readonly isOperator?: boolean
}

/** What kind of refusal it is, named like the gRPC codes that the HTTP interface answers with. */
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

/** The outcome of something that may be refused. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refusal

/** The outcome of a change that has nothing to tell beyond having happened. */
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

/** The most items that one page holds. It bounds the time and the memory that one call takes. */
const MAXIMUM_PAGE_LIMIT = 1000

/** The page with its numbers made safe: whole, not negative, within the bound. */
export function boundedPage(page: Page): { readonly limit: number; readonly offset: number } {
  return { limit: Math.min(wholeNumber(page.limit), MAXIMUM_PAGE_LIMIT), offset: wholeNumber(page.offset) }
}

function wholeNumber(value: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 0), Number.MAX_SAFE_INTEGER) : 0
}
