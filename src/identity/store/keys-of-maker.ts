/**
 * Tells of the API keys whose maker has other roles than before, since rights are checked at use.
 */
import { parseId } from './text-rules.ts'
import type { Unit } from './store.ts'

/**
 * Tells of each key that the user made: in one organization where it is given, otherwise in all of
 * them and in the deployment. The number of keys is bounded by the keys of each organization.
 */
export async function tellKeysOfMaker(
  { trx, emit }: Pick<Unit, 'trx' | 'emit'>,
  userId: string,
  organizationId?: string,
): Promise<void> {
  let keys = trx
    .selectFrom('api_keys')
    .select('id')
    .where('maker_user_id', '=', parseId(userId) ?? 0)
  if (organizationId !== undefined) keys = keys.where('organization_id', '=', parseId(organizationId) ?? 0)
  for (const { id } of await keys.execute()) emit({ kind: 'api_key_changed', apiKeyId: id })
}
