/** mosquitto, without and with its persistence. */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { anonymousDeployment } from '../deployment.ts'
import { ALWAYS } from './broker.ts'
import type { BrokerKind, Workspace } from './broker.ts'

const MOSQUITTO = '/usr/sbin/mosquitto'

export const mosquittoKinds: readonly BrokerKind[] = [
  kind({ name: 'mosquitto', title: 'mosquitto', byDefault: ALWAYS }, () => ['persistence false']),
  kind(
    {
      name: 'mosquitto-persistent',
      title: 'mosquitto, persistent',
      byDefault: ({ persistentMaximum }) => persistentMaximum !== undefined,
    },
    ({ directory }) => ['persistence true', `persistence_location ${directory}/`, 'autosave_interval 60'],
  ),
]

function kind(
  names: Pick<BrokerKind, 'name' | 'title' | 'byDefault'>,
  persistence: (workspace: Workspace) => readonly string[],
): BrokerKind {
  return {
    ...names,
    // Its persistence syncs nothing.
    isDurable: false,
    version: () => /version (\S+)/.exec(spawnSync(MOSQUITTO, ['-h'], { encoding: 'utf8' }).stdout)?.[1] ?? '',
    missing: () =>
      existsSync(MOSQUITTO) ? undefined : `${MOSQUITTO} is not there; on Debian: apt-get install mosquitto`,
    prepare: anonymousDeployment,
    command: (workspace, port) => ({
      program: MOSQUITTO,
      arguments: ['-c', writeConfiguration(workspace, port, persistence(workspace))],
    }),
  }
}

/** Mosquitto at its quickest: nothing is dropped, and each packet is sent at once. */
function writeConfiguration(
  { directory, certificate }: Workspace,
  port: number,
  persistence: readonly string[],
): string {
  const file = join(directory, 'mosquitto.conf')
  const lines = [
    // As root it would become the user mosquitto, who can't read this directory.
    `user ${userInfo().username}`,
    `listener ${port} 127.0.0.1`,
    `certfile ${certificate.certFile}`,
    `keyfile ${certificate.keyFile}`,
    'tls_version tlsv1.3',
    'allow_anonymous true',
    ...persistence,
    'set_tcp_nodelay true',
    'max_connections -1',
    'max_inflight_messages 1024',
    'max_queued_messages 0',
    'sys_interval 0',
    'log_dest none',
    'connection_messages false',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
