/** A node of the demonstration: `fieldgate serve` as a process of its own. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEMONSTRATION_PASSWORD } from '../demo/demonstration-seed.ts'
import { DemoProcess } from './demo-process.ts'
import type { DemoNats } from './demo-servers.ts'

export interface DemoNodeOptions {
  readonly name: string
  readonly folder: string
  readonly nats: DemoNats
  readonly databaseUrl: string
  /** 0: a free one. */
  readonly httpsPort: number
  readonly mqttsPort: number
  readonly started: DemoProcess[]
}

export interface DemoNode {
  readonly name: string
  readonly process: DemoProcess
  readonly https: string
  readonly mqttsPort: number
  readonly dataDirectory: string
  readonly caFile: string
  /** The authority of the node, PEM. */
  readonly ca: string
  /** The settings with which commands reach the node. */
  readonly settings: Readonly<Record<string, string>>
}

/** Starts a node, which is added to `started` at once. Resolves when it serves. */
export async function startDemoNode(options: DemoNodeOptions): Promise<DemoNode> {
  const { name, folder, nats, databaseUrl, started } = options
  const dataDirectory = join(folder, name)
  const settings = {
    FIELDGATE_DATA_DIR: dataDirectory,
    FIELDGATE_ENGINE: 'nats',
    FIELDGATE_NODE_NAME: name,
    FIELDGATE_NATS_URL: nats.urls.join(),
    FIELDGATE_NATS_MONITORING_URL: nats.monitoringUrls.join(),
    FIELDGATE_DATABASE_URL: databaseUrl,
    FIELDGATE_HOST: '127.0.0.1',
    FIELDGATE_PUBLIC_HOST: 'localhost',
    FIELDGATE_HTTPS_PORT: String(options.httpsPort),
    FIELDGATE_MQTTS_PORT: String(options.mqttsPort),
    FIELDGATE_ADMIN_PASSWORD: DEMONSTRATION_PASSWORD,
    FIELDGATE_RETENTION_BYTES: '1073741824',
    FIELDGATE_LOG_FORMAT: 'text',
  }
  const [, script = ''] = process.argv
  const node = new DemoProcess({
    name,
    command: process.execPath,
    args: [...process.execArgv, script, 'serve'],
    // The node stops when this process is gone, for whatever reason.
    environment: { ...settings, FIELDGATE_LAUNCHERS: String(process.pid) },
    folder,
  })
  started.push(node)
  await node.says(/\n {2}data +\S+\n/)
  const [, https = ''] = await node.says(/console +(https:\S+)/)
  const [, port = ''] = await node.says(/MQTT over TLS +\S+:(\d+)/)
  const [, caFile = ''] = await node.says(/trust +(\S.*)/)
  const ca = await readFile(caFile, 'utf8')
  return { name, process: node, https, mqttsPort: Number(port), dataDirectory, caFile, ca, settings }
}
