import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Store } from '../store/store.ts'

/** When each broker-access token was last used; written later, many at once. */
export interface BrokerAccessLog {
  noteUse(tokenId: string): void
  /** Writes what was noted. */
  flush(): Promise<void>
}

/**
 * What was noted is written after so long: a kill loses so much, of something that is only for
 * people to look at.
 */
const DELAY_MS = 10_000
/**
 * Tokens noted between two writes. A full map is written at once, and uses noted meanwhile in
 * excess are not.
 */
const MAXIMUM_NOTED = 20_000
/** Tokens of one statement. */
const MAXIMUM_BATCH = 200

/** A log over the store's tokens. `onError` gets what a write in the background threw. */
export function createBrokerAccessLog({ db, clock }: Store, onError: (error: unknown) => void): BrokerAccessLog {
  let noted = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    const entries = [...noted]
    noted = new Map()
    for (let start = 0; start < entries.length; start += MAXIMUM_BATCH) {
      if (start > 0) await nextTurn()
      const values = entries.slice(start, start + MAXIMUM_BATCH).map(([id, at]) => sql`(${id}, ${at})`)
      await sql`
        with used (id, at) as (values ${sql.join(values)})
        update broker_tokens set last_used_at = used.at from used where broker_tokens.id = used.id`.execute(db)
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
      noted.set(tokenId, clock.now())
      timer ??= setTimeout(() => {
        flush().catch(onError)
      }, DELAY_MS).unref()
    },
    flush,
  }
}
