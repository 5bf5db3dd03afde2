/** The versions of the codecs of device profiles, as rows of their table. */
import type { Actor } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import type { PayloadCodec, ProfileCodec, ProfileVersion } from './device-profile.ts'
import { PROFILE_BOUNDS } from './profile-rules.ts'

/** The profile whose codec is kept. */
type Whose = Pick<Schema['device_profiles'], 'id' | 'organization_id' | 'codec_version'>

/** Keeps the codec as the newest version, and forgets versions beyond the bounds. */
export async function addVersion(unit: Unit, whose: Whose, codec: ProfileCodec, actor: Actor): Promise<void> {
  const { trx, nowMs } = unit
  const { payloadCodec, payloadDecoderScript, payloadEncoderScript } = codec
  await trx
    .insertInto('device_profile_versions')
    .values({
      profile_id: whose.id,
      version: whose.codec_version,
      organization_id: whose.organization_id,
      payload_codec: payloadCodec,
      size: payloadDecoderScript.length + payloadEncoderScript.length,
      actor_user_id: actor.isOperator === true || actor.apiKey !== undefined ? null : actor.userId,
      actor_api_key_id: actor.apiKey?.id ?? null,
      created_at: nowMs,
      payload_decoder_script: payloadDecoderScript,
      payload_encoder_script: payloadEncoderScript,
    })
    .execute()
  await prune(unit, whose)
}

/** Forgets the oldest versions of the profile, and then the oldest of its organization. */
async function prune({ trx }: Unit, { id, organization_id: organizationId, codec_version: newest }: Whose) {
  const older = trx
    .selectFrom('device_profile_versions')
    .select(['profile_id', 'version', 'size'])
    .where('organization_id', '=', organizationId)
    .orderBy('created_at', 'desc')
    .orderBy('version', 'desc')
  const { versions, charactersOfVersions, charactersOfAllVersions } = PROFILE_BOUNDS
  const own = await older.where('profile_id', '=', id).where('version', '<', newest).execute()
  await forget(trx, beyond(own, charactersOfVersions, versions - 1))
  const { sum } = await trx
    .selectFrom('device_profile_versions')
    .select((eb) => eb.fn.sum<number>('size').as('sum'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  if (sum <= charactersOfAllVersions) return
  const all = (await older.execute()).filter(({ profile_id: of, version }) => of !== id || version !== newest)
  await forget(trx, beyond(all, charactersOfAllVersions, Infinity))
}

type Sized = Pick<Schema['device_profile_versions'], 'profile_id' | 'version' | 'size'>

/** The rows behind those that the bounds leave room for. */
function beyond(newestFirst: readonly Sized[], characters: number, count: number): readonly Sized[] {
  let sum = 0
  return newestFirst.filter(({ size }, index) => {
    sum += size
    return index >= count || sum > characters
  })
}

async function forget(trx: Unit['trx'], rows: readonly Sized[]): Promise<void> {
  for (const { profile_id: profileId, version } of rows) {
    await trx
      .deleteFrom('device_profile_versions')
      .where('profile_id', '=', profileId)
      .where('version', '=', version)
      .execute()
  }
}

/** Forgets all versions of the profile. */
export async function removeVersions(trx: Unit['trx'], profileId: string): Promise<void> {
  await trx.deleteFrom('device_profile_versions').where('profile_id', '=', profileId).execute()
}

/** The newest first. */
export async function versionsOf(db: Store['db'], profileId: string): Promise<readonly ProfileVersion[]> {
  const rows = await db
    .selectFrom('device_profile_versions')
    .select(['version', 'payload_codec', 'size', 'actor_user_id', 'actor_api_key_id', 'created_at'])
    .where('profile_id', '=', profileId)
    .orderBy('version', 'desc')
    .limit(PROFILE_BOUNDS.versions)
    .execute()
  return rows.map((row) => ({
    version: row.version,
    payloadCodec: row.payload_codec as PayloadCodec,
    size: row.size,
    actorUserId: row.actor_user_id,
    actorApiKeyId: row.actor_api_key_id,
    createdAtMs: row.created_at,
  }))
}

/** The codec of a version that is kept. */
export async function codecOfVersion(
  db: Store['db'],
  profileId: string,
  version: number,
): Promise<ProfileCodec | undefined> {
  const row = await db
    .selectFrom('device_profile_versions')
    .select(['payload_codec', 'payload_decoder_script', 'payload_encoder_script'])
    .where('profile_id', '=', profileId)
    .where('version', '=', version)
    .executeTakeFirst()
  return (
    row && {
      payloadCodec: row.payload_codec as PayloadCodec,
      payloadDecoderScript: row.payload_decoder_script,
      payloadEncoderScript: row.payload_encoder_script,
    }
  )
}
