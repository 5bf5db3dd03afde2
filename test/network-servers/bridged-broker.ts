/**
 * A mosquitto that stays the broker of a ChirpStack, set up by docs/network-servers/bridge.md, with
 * Fieldgate as its client.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Authority } from '../support/authority.ts'
import { outputOf } from '../support/program.ts'
import { startBroker } from './backing-servers.ts'
import type { BackingServer } from './backing-servers.ts'
import { CutProxy } from './cut-proxy.ts'
import type { MqttIntegration } from './mqtt-integration.ts'
import type { Programs } from './programs.ts'

export interface BridgedBroker extends BackingServer {
  /** The path from Fieldgate to it. */
  readonly fieldgatePath: CutProxy
  /** The settings with which a ChirpStack connects to it. */
  integration(clientId: string): MqttIntegration
  /** Its entry in Fieldgate's settings file. */
  networkServer(name: string, organizationId: string): object
  close(): Promise<void>
}

const PASSWORDS = { fieldgate: 'a password of Fieldgate', chirpstack: 'a password of ChirpStack' } as const

export async function startBridgedBroker(
  programs: Pick<Programs, 'mosquitto'>,
  folder: string,
): Promise<BridgedBroker> {
  const own = join(folder, 'valley')
  await mkdir(own, { recursive: true })
  const authority = await Authority.create(own)
  await authority.issue()
  const [passwordFile, aclFile] = [join(own, 'passwords'), join(own, 'acl')]
  await writeFile(passwordFile, '', { mode: 0o600 })
  for (const [user, password] of Object.entries(PASSWORDS)) {
    await outputOf('mosquitto_passwd', ['-b', passwordFile, user, password])
  }
  await writeFile(
    aclFile,
    `user fieldgate
topic read application/+/device/+/event/+
topic write application/+/device/+/command/down

user chirpstack
topic write application/+/device/+/event/+
topic read application/+/device/+/command/+
`,
    { mode: 0o600 },
  )
  const broker = await startBroker(programs, folder, 'valley', (port) => [
    `listener ${port} 127.0.0.1`,
    `cafile ${authority.caFile}`,
    `certfile ${authority.certFile}`,
    `keyfile ${authority.keyFile}`,
    'allow_anonymous false',
    `password_file ${passwordFile}`,
    `acl_file ${aclFile}`,
  ])
  const fieldgatePath = await CutProxy.open(broker.port)
  return {
    ...broker,
    fieldgatePath,
    integration: (clientId) => ({
      server: `ssl://localhost:${broker.port}/`,
      userName: 'chirpstack',
      password: PASSWORDS.chirpstack,
      clientId,
      caFile: authority.caFile,
    }),
    networkServer: (name, organizationId) => ({
      name,
      kind: 'mqtt-bridge',
      organizationId,
      url: `mqtts://localhost:${fieldgatePath.port}`,
      clientId: `fieldgate-${name}`,
      userName: 'fieldgate',
      password: PASSWORDS.fieldgate,
      caFile: authority.caFile,
    }),
    close: async () => {
      await broker.part.stop()
      await fieldgatePath.close()
    },
  }
}
