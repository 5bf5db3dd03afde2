/** The scripts of the library. Profiles with the same text share one row, by its hash. */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Schema } from '../store/schema.ts'

/** SHA-256 of the text in hexadecimal; empty for no script. */
export function hashOf(script: string): string {
  return script === '' ? '' : createHash('sha256').update(script).digest('hex')
}

/** Keeps the text. Returns its hash. */
export async function keepScript(trx: Kysely<Schema>, script: string): Promise<string> {
  const hash = hashOf(script)
  if (hash === '') return hash
  await trx
    .insertInto('library_scripts')
    .values({ hash, size: script.length, script })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
  return hash
}

/** Whether the text is kept already. */
export async function isKept(db: Kysely<Schema>, script: string): Promise<boolean> {
  if (script === '') return true
  const found = await db.selectFrom('library_scripts').select('hash').where('hash', '=', hashOf(script)).execute()
  return found.length > 0
}

/** The text of a hash. */
export async function scriptOf(db: Kysely<Schema>, hash: string): Promise<string> {
  if (hash === '') return ''
  const { script } = await db
    .selectFrom('library_scripts')
    .select('script')
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow()
  return script
}

/** Forgets those of the scripts that no profile has any more. */
export async function forgetScripts(trx: Kysely<Schema>, hashes: Iterable<string>): Promise<void> {
  for (const hash of new Set(hashes)) {
    if (hash === '') continue
    const holder = await trx
      .selectFrom('library_profiles')
      .select('id')
      .where((eb) => eb.or([eb('decoder_hash', '=', hash), eb('encoder_hash', '=', hash)]))
      .limit(1)
      .executeTakeFirst()
    if (holder === undefined) await trx.deleteFrom('library_scripts').where('hash', '=', hash).execute()
  }
}
