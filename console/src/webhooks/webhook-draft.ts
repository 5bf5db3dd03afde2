/** A webhook while a person writes its settings. */
import { pairsOf, recordOf } from '../devices/pairs.ts'
import type { Pair } from '../devices/pairs.ts'
import { settingsOf } from './webhook.ts'
import type { Webhook } from './webhook.ts'

export interface WebhookDraft {
  readonly name: string
  readonly url: string
  readonly applicationIds: readonly string[]
  readonly eventKinds: readonly string[]
  readonly tags: readonly Pair[]
  readonly headers: readonly Pair[]
  readonly isBatch: boolean
  readonly skips: boolean
  readonly acceptsCommands: boolean
}

/** The settings of a webhook, or those with which a new one begins. */
export function draftOf(webhook: Webhook | undefined): WebhookDraft {
  return {
    name: webhook?.name ?? '',
    url: webhook?.url ?? '',
    applicationIds: webhook?.applicationIds ?? [],
    eventKinds: webhook?.eventKinds ?? [],
    tags: pairsOf(webhook?.tags ?? {}),
    headers: [],
    isBatch: webhook?.batch !== undefined,
    skips: webhook?.onRefused === 'skip',
    acceptsCommands: webhook?.acceptsCommands ?? false,
  }
}

/**
 * The body of a request that creates or changes the webhook. Settings that the draft does not have
 * stay as they are.
 */
export function bodyOf(draft: WebhookDraft, webhook: Webhook | undefined): object {
  const tags = recordOf(draft.tags)
  return {
    webhook: {
      ...(webhook === undefined ? {} : settingsOf(webhook)),
      name: draft.name.trim(),
      url: draft.url.trim(),
      applicationIds: someOf(draft.applicationIds),
      eventKinds: someOf(draft.eventKinds),
      tags: Object.keys(tags).length === 0 ? undefined : tags,
      // Without header fields, a webhook keeps those that it has.
      headers: webhook !== undefined && draft.headers.length === 0 ? undefined : recordOf(draft.headers),
      batch: draft.isBatch ? (webhook?.batch ?? USUAL_BATCH) : undefined,
      onRefused: draft.skips ? 'skip' : 'pause',
      acceptsCommands: draft.acceptsCommands && !draft.isBatch,
    },
  }
}

const USUAL_BATCH = { maximumEvents: 100, maximumBytes: 262_144, waitMs: 1_000 }

/** An empty list would be refused: it stands for no restriction here. */
function someOf(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list
}
