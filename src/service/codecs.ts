/** The codecs of payloads, which run tenants' scripts in processes of their own. */
import { Codecs } from '../lorawan/codecs/codecs.ts'
import { systemClock } from '../clock.ts'
import type { Parts, StartContext } from './parts.ts'

/** Opens the codecs. The processes start with the first script. */
export function openCodecs(
  { log, shutdown }: StartContext,
  { registry, bounds }: Pick<Parts, 'registry' | 'bounds'>,
): Codecs {
  const codecs = new Codecs({
    organizationOf: async (applicationId) => registry.directory.organizationOf(applicationId),
    msPerSecondOf: (organizationId) => bounds.of(organizationId).codecMsPerSecond,
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  shutdown.add('codecs', () => codecs.close())
  return codecs
}
