/** The settings of the engine over NATS. */
import { choice, natsAddresses, nodeName, optionalPath, webAddresses } from './kinds.ts'

/** The part of the table of settings that is about NATS. */
export const natsDefinitions = {
  natsUrl: natsAddresses({
    name: 'FIELDGATE_NATS_URL',
    description:
      'The servers of NATS for `FIELDGATE_ENGINE=nats`: `nats://10.0.0.1:4222`, or `tls://`, several with commas. One `tls://` asks all of them for TLS.',
  }),
  natsMonitoringUrl: webAddresses({
    name: 'FIELDGATE_NATS_MONITORING_URL',
    description:
      'The monitoring addresses of all these servers: `http://10.0.0.1:8222`, several with commas. The start checks there that the servers are current and sync what they store.',
  }),
  natsCredentialsFile: optionalPath({
    name: 'FIELDGATE_NATS_CREDENTIALS_FILE',
    defaultText: 'none',
    description: 'A file of NATS credentials (`.creds`) for these servers.',
  }),
  natsCaFile: optionalPath({
    name: 'FIELDGATE_NATS_CA_FILE',
    defaultText: 'the authorities of the runtime',
    description: 'The certificate authority of these servers, PEM. With it, the connection must be by TLS.',
  }),
  natsDevelopment: choice({
    name: 'FIELDGATE_NATS_DEVELOPMENT',
    default: 'false',
    choices: ['true', 'false'],
    description:
      'Whether one server of NATS is enough, and none is checked. Then a power cut or the loss of its disk loses acknowledged messages.',
  }),
  nodeName: nodeName({
    name: 'FIELDGATE_NODE_NAME',
    description:
      'The name under which this service keeps its Sessions at the servers of NATS. It must stay the same. A second service with the same name takes the place of the first.',
  }),
} as const

/** The values of these settings that are compared with one another. */
interface NatsSettings {
  readonly engine: string
  readonly natsUrl: readonly string[]
  readonly natsMonitoringUrl: readonly string[]
  readonly natsDevelopment: 'true' | 'false'
  readonly nodeName: string | undefined
}

/** The settings that the engine over NATS lacks, each with the reason. */
export function natsFaults(settings: NatsSettings): { readonly name: string; readonly reason: string }[] {
  if (settings.engine !== 'nats') return []
  const reason = 'must be set when FIELDGATE_ENGINE is nats'
  const faults: { readonly name: string; readonly reason: string }[] = []
  if (settings.natsUrl.length === 0) faults.push({ name: natsDefinitions.natsUrl.name, reason })
  if (settings.nodeName === undefined) faults.push({ name: natsDefinitions.nodeName.name, reason })
  if (settings.natsMonitoringUrl.length === 0 && settings.natsDevelopment === 'false') {
    const orElse = `${reason}, unless ${natsDefinitions.natsDevelopment.name} is true`
    faults.push({ name: natsDefinitions.natsMonitoringUrl.name, reason: orElse })
  }
  return faults
}
