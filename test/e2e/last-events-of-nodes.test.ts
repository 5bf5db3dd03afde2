/** The last events of an application's devices in a deployment of two nodes. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { startTestServer } from '../postgresql/test-server.ts'
import { Administration } from '../support/administration.ts'
import { LiveConnections, publish } from '../support/live-connections.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const TITLE =
  'the last event of a device is retained at all nodes, also at one that starts later, until the setting ends'
const LONG = { timeout: 120_000 }
/** The time in which a change of one node is to reach the others, ms. */
const REACHED_MS = 20_000

const nats = natsServerProgram()
const database = await startTestServer(TITLE)

if ('missing' in nats) test(TITLE, { skip: nats.missing }, () => {})
else if (database !== undefined) {
  test(TITLE, LONG, async () => {
    await using servers = await NatsServers.start({ program: nats.program, count: 1 })
    const folder = await makeFolder()
    const url = database.newDatabase()
    const startNode = (name: string): ReturnType<typeof startAsProcess> =>
      startAsProcess(join(folder, name), {
        FIELDGATE_ENGINE: 'nats',
        FIELDGATE_NATS_URL: servers.urls.join(),
        FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
        FIELDGATE_NATS_DEVELOPMENT: 'true',
        FIELDGATE_NODE_NAME: name,
        FIELDGATE_DATABASE_URL: url,
        FIELDGATE_RETENTION_BYTES: '1073741824',
        FIELDGATE_LOG_LEVEL: 'warn',
      })
    try {
      await using a = await startNode('a')
      await using b = await startNode('b')
      const administration = new Administration(a)
      const organizationId = await administration.organization()
      const applicationId = await administration.application(organizationId, { retainsLastEvents: true })
      const devEui = await administration.device(applicationId)
      const credential = await administration.serviceCredential(organizationId)
      const { session } = await administration.person([{ organizationId }])
      const token = await administration.brokerToken(session, organizationId)

      /** The payloads of the retained events that a new subscriber of the node gets. */
      const lastAt = async (node: RunningService): Promise<readonly string[]> => {
        const live = new LiveConnections(node)
        try {
          const client = await live.integrator(5, token)
          // The node may not have heard of the application yet.
          const startedMs = performance.now()
          while ((await client.subscribe(`application/${applicationId}/device/+/event/+`)) !== 1) {
            assert.ok(performance.now() - startedMs < REACHED_MS, 'the application is not known')
          }
          const packets = await client.ping()
          assert.ok(packets !== 'closed')
          return packets.map((packet) =>
            packet.cmd === 'publish' && packet.retain ? String(packet.payload) : packet.cmd,
          )
        } finally {
          live.closeAll()
        }
      }
      /** Resolves when a new subscriber of the node gets these events. */
      const lastIs = async (node: RunningService, wanted: readonly string[]): Promise<void> => {
        const startedMs = performance.now()
        for (;;) {
          const last = await lastAt(node)
          if (JSON.stringify(last) === JSON.stringify(wanted)) return
          assert.ok(performance.now() - startedMs < REACHED_MS, `${last.join()} in place of ${wanted.join()}`)
        }
      }

      const live = new LiveConnections(a)
      const server = await live.networkServer(credential)
      for (const fCnt of [1, 2]) {
        assert.ok(
          (await publish(server, `application/${applicationId}/device/${devEui}/event/up`, `{"fCnt":${fCnt}}`)) < 0x80,
        )
      }
      await lastIs(a, ['{"fCnt":2}'])
      await lastIs(b, ['{"fCnt":2}'])
      live.closeAll()
      a.program.signal('SIGKILL')
      await a.program.ended()
      await using c = await startNode('c')
      await lastIs(c, ['{"fCnt":2}'])
      const path = `/api/applications/${applicationId}`
      await new Administration(c).must('PUT', path, { application: { retainsLastEvents: false } })
      await lastIs(c, [])
      await lastIs(b, [])
    } finally {
      await database.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}
