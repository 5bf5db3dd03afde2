/** Commands, views and network servers between nodes over real servers of NATS. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../clock.ts'
import { TestedDeployment } from '../cluster/nodes-over-nats.testing.ts'
import type { TestedNode } from '../cluster/nodes-over-nats.testing.ts'
import { natsServerProgram } from '../engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import { TestBrokerViews } from '../http/operation/broker-views.testing.ts'
import { readCommand } from '../lorawan/commands/command.ts'
import { DEVICE, openTestDownlinks, TestNetworkServer } from '../lorawan/commands/downlinks.testing.ts'
import { waysOfNodes } from '../lorawan/commands/nodes/ways-of-nodes.ts'
import type { WaysOfNodes } from '../lorawan/commands/nodes/ways-of-nodes.ts'
import type { NetworkServer } from '../lorawan/commands/network-server.ts'
import { NetworkServersOfNodes } from '../lorawan/network-servers/nodes/network-servers-of-nodes.ts'
import { silentLogger } from '../logger.ts'
import { createViewsOfNodes } from './views-of-nodes.ts'

const found = natsServerProgram()
const LONG = { timeout: 60_000 }
const TARGET = { applicationId: '5', devEui: DEVICE }

describe('nodes over NATS', () => {
  if ('missing' in found) {
    test('are tested with servers', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let deployment: TestedDeployment
  let a: TestedNode
  let b: TestedNode
  before(async () => {
    servers = await NatsServers.start({ program, count: 1 })
    deployment = new TestedDeployment(servers, 'commands', 1)
    a = await deployment.join('a')
    b = await deployment.join('b')
  })
  after(async () => {
    await deployment[Symbol.asyncDispose]()
    await servers[Symbol.asyncDispose]()
  })

  test('have one queue for an application', LONG, async () => {
    const server = new TestNetworkServer()
    const open = async ({ nodes }: TestedNode): Promise<WaysOfNodes> => {
      const downlinks = await openTestDownlinks({ server, clock: systemClock })
      return waysOfNodes(downlinks, { nodes, clock: systemClock })
    }
    const [first, second] = [await open(a), await open(b)]
    const read = readCommand({ confirmed: false, fPort: 10, data: 'AQID', id: 'one' })
    const answer = await first.commands.submit(TARGET, read)
    const again = await second.commands.submit(TARGET, read)
    assert.deepEqual([answer.ok && answer.isRepeated, again.ok && again.isRepeated], [false, true])
    const listed = await second.commands.list('1', TARGET)
    assert.ok(listed !== 'away')
    assert.deepEqual([listed.length, listed[0]?.state, server.offered.length], [1, 'sent', 1])
    const payload = Buffer.from(JSON.stringify({ queueItemId: server.offered[0]?.id }))
    const told = await second.events.told({ ...TARGET, kind: 'txack', payload })
    assert.match(told.toString(), /^\{"commandId":"one"/)
    first.homes.release('5')
  })

  test('show each other’s connections', LONG, async () => {
    const [here, there] = [a, b].map(({ nodes }) => {
      const own = new TestBrokerViews(`${nodes.bus.self.incarnation}-`)
      return { own, all: createViewsOfNodes(own, nodes.bus) }
    })
    const { id } = there?.own.connect({ organizationId: '1' }, { clientId: 'far' }) ?? { id: '' }
    const { items, missing } = (await here?.all.connections({ offset: 0, limit: 10 })) ?? { items: [], missing: ['?'] }
    assert.deepEqual([items.map((item) => item.facts.clientId), missing], [['far'], []])
    assert.equal(await here?.all.endConnection(id), true)
  })

  test('have one connection to a network server', LONG, async () => {
    const connected: string[] = []
    const opened = Promise.withResolvers<void>()
    const add = ({ nodes }: TestedNode): NetworkServer => {
      const options = { nodes, clock: systemClock, onReady: () => {}, onChanged: () => {}, log: silentLogger }
      const open = async (): Promise<NetworkServer> => {
        connected.push(nodes.bus.self.name)
        opened.resolve()
        return new TestNetworkServer()
      }
      return new NetworkServersOfNodes(options).add({ name: 'ChirpStack', serves: () => true, flushes: true, open })
    }
    const first = add(a)
    await opened.promise
    const second = add(b)
    const downlink = { id: 'x', ...TARGET, confirmed: false, fPort: 1, data: Buffer.of(1), expiresAtMs: undefined }
    let answer = await second.handOver(downlink)
    // Until its first look, the other node does not know who has the connection.
    while (answer.outcome === 'away') {
      await new Promise((resolve) => setImmediate(resolve))
      answer = await second.handOver(downlink)
    }
    assert.deepEqual([answer, connected], [{ outcome: 'taken' }, ['a']])
    await first.close()
    await second.close()
  })
})
