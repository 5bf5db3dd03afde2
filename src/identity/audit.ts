import type { Listed, Page, Viewer } from './result.ts'

/** Something that somebody did. */
export interface AuditEntry {
  readonly id: string
  readonly atMs: number
  /** `null` is the service itself or its command line. */
  readonly actorUserId: string | null
  /** `noun.verb`, for example `user.created`. */
  readonly action: string
  /** What it was done to: an id, a DevEUI or a name. */
  readonly subject: string
  readonly organizationId: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/** Who did what. Kept for 90 days, and at most 100,000 entries. */
export interface Audit {
  record(entry: Omit<AuditEntry, 'id' | 'atMs'>): Promise<void>
  /** Newest first. `search` looks into action and subject. Others than global admins see what was done to their organizations. */
  list(viewer: Viewer, page: Page & { readonly organizationId?: string }): Promise<Listed<AuditEntry>>
}
