/** Notes when broker-access tokens are used. The times are written later, many at once. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { rowsAsJson } from '../store/rows-as-json.ts'
import type { Store } from '../store/store.ts'

/** When each broker-access token was last used. */
export interface BrokerAccessLog {
  noteUse(tokenId: string): void
  /** Writes the noted uses. */
  flush(): Promise<void>
}

/**
 * Noted uses are written after this time. A kill loses the uses of this time; only people look at
 * them.
 */
const DELAY_MS = 10_000
/**
 * Tokens noted between two writes. At the bound the notes are written at once, and uses of further
 * tokens meanwhile are not noted.
 */
const MAXIMUM_NOTED = 20_000
/** Tokens that one statement writes. */
const MAXIMUM_BATCH = 200

/** A log over the store's tokens. The error of a write in the background goes to `onError`. */
export function createBrokerAccessLog(store: Store, onError: (error: unknown) => void): BrokerAccessLog {
  let noted = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    const entries = [...noted]
    noted = new Map()
    for (let start = 0; start < entries.length; start += MAXIMUM_BATCH) {
      if (start > 0) await nextTurn()
      const rows = entries.slice(start, start + MAXIMUM_BATCH)
      const update = sql`
        with used (id, at) as (${rowsAsJson(store, ['text', 'bigint'], rows)})
        update broker_tokens set last_used_at = used.at from used where broker_tokens.id = used.id`
      await store.note((db) => update.execute(db))
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    writing = writing.catch(() => undefined).then(write)
    return writing
  }

  return {
    noteUse(tokenId) {
      if (noted.size >= MAXIMUM_NOTED && !noted.has(tokenId)) {
        flush().catch(onError)
        return
      }
      noted.set(tokenId, store.clock.now())
      timer ??= setTimeout(() => {
        flush().catch(onError)
      }, DELAY_MS).unref()
    },
    flush,
  }
}
