/** The User Property that tells a client when its permit ends by itself. */
import type { UserProperty } from '../../mqtt/packet.ts'
import type { Permit } from '../ports/policy.ts'

/**
 * The User Properties for CONNACK and AUTH: the end of the permit by RFC 3339, under the given
 * name. Undefined where there is no name, or no end.
 */
export function expiryProperties(
  name: string | undefined,
  { expiresAtMs }: Pick<Permit, 'expiresAtMs'>,
): readonly UserProperty[] | undefined {
  if (name === undefined || expiresAtMs === undefined) return undefined
  return [[name, new Date(expiresAtMs).toISOString()]]
}
