/** Sessions that go from one node to another: nodes within one process, over one log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StateRequest } from '../ports/engine.ts'
import { TOPIC_FILTER, TOPIC_NAME, publish, take, texts, three } from '../../../test/support/broker-nodes.ts'

const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

describe('a Session in a deployment of several nodes', () => {
  it('gets messages that were published at another node', async () => {
    const { a, b } = await three()
    const reader = await a.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    await publish(await b.connect(), '1')
    assert.deepEqual(texts(await take(reader, 1)), ['1'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('gets QoS 0 messages that were published at another node, with their properties, and its own only once', async () => {
    const { a, b } = await three()
    const reader = await a.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { noLocal: true })
    const publisher = await b.connect()
    const userProperties = [['one', 'two']] as const
    publisher.publish(TOPIC_NAME, '1', { properties: { userProperties } })
    const packet = await reader.next('publish')
    assert.deepEqual([packet.payload.toString(), packet.properties?.userProperties], ['1', userProperties])
    reader.publish(TOPIC_NAME, '2')
    assert.deepEqual(await reader.sync(), [])
    assert.deepEqual(await publisher.sync(), [])
  })

  for (const qos of [1, 2] as const) {
    it(`goes on at another node with each message at QoS ${qos} once and in order`, async () => {
      const { a, b, c } = await three()
      const publisher = await b.connect({ clientId: 'publisher' })
      const first = await a.connect(KEPT)
      await first.subscribe(TOPIC_FILTER, { qos })
      await publish(publisher, '1', qos)
      assert.deepEqual(texts(await take(first, 1)), ['1'])
      first.drop()
      await publish(publisher, '2', qos)
      const second = await c.connect(KEPT)
      assert.equal(second.sessionPresent, true)
      await publish(publisher, '3', qos)
      assert.deepEqual(texts(await take(second, 2)), ['2', '3'])
      assert.deepEqual(await second.sync(), [])
      second.drop()
      const third = await a.connect(KEPT)
      assert.equal(third.sessionPresent, true)
      await publish(publisher, '4', qos)
      assert.deepEqual(texts(await take(third, 1)), ['4'])
      assert.deepEqual(await third.sync(), [])
    })
  }

  it('does not go on at a node that is cut off, for an heir may have it', async () => {
    const { a } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 2 })
    first.drop()
    a.node.isCutOff = true
    await assert.rejects(a.connect(KEPT), /Reason Code 0x88/)
    a.node.isCutOff = false
    assert.equal((await a.connect(KEPT)).sessionPresent, true)
  })

  it('takes its messages in flight along, with their Packet Identifiers and DUP', async () => {
    const { a, b } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 2 })
    const publisher = await b.connect()
    await publish(publisher, '1', 1)
    await publish(publisher, '2', 2)
    const [one, two] = [await first.next('publish'), await first.next('publish')]
    first.acknowledge('pubrec', two.packetId)
    await first.next('pubrel')
    first.drop()
    const second = await b.connect(KEPT)
    const packets = [await second.next('pubrel'), await second.next('publish')] as const
    assert.equal(packets[0].packetId, two.packetId)
    assert.deepEqual([packets[1].packetId, packets[1].dup], [one.packetId, true])
    assert.deepEqual(await second.sync(), [])
  })

  it('leaves nothing behind when the engine refuses a write that it had under way', async () => {
    const { a, b } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 2 })
    await publish(await b.connect(), '1', 2)
    const { packetId } = await first.next('publish')
    const refused: StateRequest[] = []
    const { engine } = a
    const write = engine.write.bind(engine)
    engine.write = (request) => {
      const isStep = request.changes.length === 1 && request.changes[0]?.key.startsWith('sent/') === true
      if (isStep) refused.push(request)
      else write(request)
    }
    first.acknowledge('pubrec', packetId)
    await a.node.homes.find('turn', 0)
    first.drop()
    const second = await b.connect(KEPT)
    assert.deepEqual(texts(await take(second, 1)), ['1'])
    engine.write = write
    assert.equal(refused.length, 1)
    for (const request of refused) request.failed({ reasonCode: 0x97, reason: 'no room' })
    await a.broker.store?.checkpoint()
    assert.deepEqual(
      [...engine.state.keys()].filter((key) => key.startsWith('sent/')),
      [],
    )
  })

  it('remembers a QoS 2 message that its client has not released', async () => {
    const { a, b, c } = await three()
    const reader = await c.connect(KEPT)
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    const fields = { ...KEPT, clientId: 'publisher' }
    const first = await a.connect(fields)
    const packetId = first.publish(TOPIC_NAME, '1', { qos: 2 })
    await first.next('pubrec')
    first.drop()
    const second = await b.connect(fields)
    second.publish(TOPIC_NAME, '1', { qos: 2, packetId, dup: true })
    await second.next('pubrec')
    second.acknowledge('pubrel', packetId)
    await second.next('pubcomp')
    assert.deepEqual(texts(await take(reader, 1)), ['1'])
    assert.deepEqual(await reader.sync(), [])
  })

  it('ends its connection at the other node with 0x8E', async () => {
    const { a, b } = await three()
    const first = await a.connect(KEPT)
    const second = await b.connect(KEPT)
    assert.equal((await first.next('disconnect')).reasonCode, 0x8e)
    await first.closed()
    assert.equal(second.sessionPresent, true)
    assert.equal([...a.broker.connections()].length, 0)
    assert.equal([...b.broker.connections()].length, 1)
  })

  it('has one connection after CONNECTs at all nodes at once', async () => {
    const { deployment, a, b, c } = await three()
    for (let round = 0; round < 15; round += 1) {
      const clients = await Promise.all([a, b, c, a, b, c].map((node) => node.connect(KEPT)))
      await deployment.nodes.inherited(0)
      const live = clients.filter(({ transport }) => !transport.ended)
      assert.equal(live.length, 1)
      assert.deepEqual(await live[0]?.sync(), [])
    }
  })

  it('that ends with its connection is ended at the other node, and does not come along', async () => {
    const { a, b } = await three()
    const fields = { clientId: 'reader' }
    const first = await a.connect(fields)
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    const second = await b.connect({ ...fields, cleanStart: false })
    assert.equal((await first.next('disconnect')).reasonCode, 0x8e)
    assert.equal(second.sessionPresent, false)
    await publish(second, '1')
    assert.deepEqual(await second.sync(), [])
  })

  it('waits at a node that is behind the log, and gets nothing twice', async () => {
    const { a, b, c } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    b.engine.hold()
    await publish(await c.connect(), '1')
    assert.deepEqual(texts(await take(first, 1)), ['1'])
    await first.sync()
    first.drop()
    const connecting = b.connect(KEPT)
    await c.node.homes.find('turn', 0)
    b.engine.goOn()
    const second = await connecting
    assert.equal(second.sessionPresent, true)
    await publish(await c.connect(), '2')
    assert.deepEqual(texts(await take(second, 1)), ['2'])
    assert.deepEqual(await second.sync(), [])
  })

  it('publishes its Will Message once when it is taken over', async () => {
    const { a, b, c } = await three()
    const reader = await c.connect()
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    const will = {
      topicName: TOPIC_NAME,
      payload: Buffer.from('gone'),
      qos: 1,
      retain: false,
      delayIntervalSeconds: 0,
    } as const
    await a.connect({ ...KEPT, clientId: 'device', will })
    await b.connect({ ...KEPT, clientId: 'device' })
    assert.deepEqual(texts(await take(reader, 1)), ['gone'])
    assert.deepEqual(await reader.sync(), [])
  })
})

describe('the Sessions of a node that died', () => {
  it('go on at its heir, and where their clients come back', async () => {
    const { deployment, a, b, c } = await three()
    const publisher = await c.connect({ clientId: 'publisher' })
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 2 })
    await publish(publisher, '1', 2)
    assert.deepEqual(texts(await take(first, 1)), ['1'])
    await deployment.kill(a, b)
    await publish(publisher, '2', 2)
    const second = await c.connect(KEPT)
    assert.equal(second.sessionPresent, true)
    await publish(publisher, '3', 2)
    assert.deepEqual(texts(await take(second, 2)), ['2', '3'])
    assert.deepEqual(await second.sync(), [])
  })

  it('do not bring a QoS 2 message again that ended before their heir had read up to it', async () => {
    const { deployment, a, b, c } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 2 })
    const publisher = await c.connect()
    await publish(publisher, '1', 2)
    await publish(publisher, '2', 2)
    const [one, two] = [await first.next('publish'), await first.next('publish')]
    first.acknowledge('pubrec', one.packetId)
    await first.next('pubrel')
    await deployment.kill(a, b)
    // The window is full of one message, so the heir does not read the log.
    const second = await b.connect({ ...KEPT, properties: { ...KEPT.properties, receiveMaximum: 1 } })
    assert.equal((await second.next('pubrel')).packetId, one.packetId)
    second.acknowledge('pubcomp', one.packetId)
    assert.equal((await second.next('publish')).packetId, two.packetId)
    second.drop()
    const third = await c.connect(KEPT)
    assert.equal((await third.next('pubrel')).packetId, one.packetId)
    third.acknowledge('pubcomp', one.packetId)
    assert.deepEqual(texts(await take(third, 1)), ['2'])
    assert.deepEqual(await third.sync(), [])
  })

  it('are complete where a client was about to take its Session along', async () => {
    const { deployment, a, b, c } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    deployment.nodes.delivery = ({ type, kind }) => (type === 'answer' && kind === 'session.leave' ? 'drop' : undefined)
    b.open().send({ type: 'connect', protocolVersion: 5, keepAliveSeconds: 0, ...KEPT })
    await first.closed()
    await publish(await c.connect(), '1')
    // The Session is on its way: the checkpoint must not move its place in the log.
    await a.broker.store?.checkpoint()
    deployment.nodes.silence(b.node)
    deployment.nodes.delivery = () => undefined
    await deployment.kill(a, c)
    const second = await c.connect(KEPT)
    assert.equal(second.sessionPresent, true)
    assert.deepEqual(texts(await take(second, 1)), ['1'])
    assert.deepEqual(await second.sync(), [])
    // The silent node gives up.
    deployment.clock.advance(b.broker, 20)
  })

  it('publish their Will Messages once', async () => {
    const { deployment, a, b, c } = await three()
    const reader = await c.connect()
    await reader.subscribe(TOPIC_FILTER, { qos: 1 })
    const will = {
      topicName: TOPIC_NAME,
      payload: Buffer.from('gone'),
      qos: 1,
      retain: false,
      delayIntervalSeconds: 5,
    } as const
    await a.connect({ ...KEPT, clientId: 'device', will })
    await a.broker.store?.checkpoint()
    await deployment.kill(a, b)
    assert.deepEqual(await reader.sync(), [])
    deployment.clock.advance(b.broker, 6)
    assert.deepEqual(texts(await take(reader, 1)), ['gone'])
    deployment.clock.advance(b.broker, 6)
    assert.deepEqual(await reader.sync(), [])
  })

  it('are not there again when the node comes back after they went on elsewhere', async () => {
    const { deployment, a, b } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    first.drop()
    await b.connect(KEPT)
    const state = new Map(a.engine.state)
    assert.deepEqual(
      [...state.keys()].filter((key) => key.startsWith('session/')),
      [],
    )
    await deployment.kill(a, b)
    const again = await deployment.start('a', state)
    const second = await again.connect(KEPT)
    assert.equal(second.sessionPresent, true)
  })

  it('are taken back when the node that asked for them dies before it has them', async () => {
    const { deployment, a, b, c } = await three()
    const first = await a.connect(KEPT)
    await first.subscribe(TOPIC_FILTER, { qos: 1 })
    deployment.nodes.delivery = ({ type, kind }) => (type === 'answer' && kind === 'session.leave' ? 'drop' : undefined)
    b.open().send({ type: 'connect', protocolVersion: 5, keepAliveSeconds: 0, ...KEPT })
    await first.closed()
    deployment.nodes.silence(b.node)
    deployment.nodes.delivery = () => undefined
    deployment.clock.advance(a.broker, 11)
    await publish(await c.connect(), '1')
    const again = await a.connect(KEPT)
    assert.equal(again.sessionPresent, true)
    assert.deepEqual(texts(await take(again, 1)), ['1'])
    // The silent node gives up.
    deployment.clock.advance(a.broker, 10)
  })
})
