/** Shared subscriptions with members at several nodes: nodes within one process, over one log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestClient } from '../../../test/support/broker-harness.ts'
import { TOPIC_FILTER, TOPIC_NAME, publish, three } from '../../../test/support/broker-nodes.ts'
import type { TestNode } from '../../../test/support/broker-nodes.ts'

const SHARED = `$share/workers/${TOPIC_FILTER}`
const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

/** A member of the group that notes everything that it gets, and acknowledges it. */
class Member {
  readonly got: string[] = []
  readonly client: TestClient
  readonly name: string

  constructor(client: TestClient, name: string) {
    this.client = client
    this.name = name
  }

  static async join(node: TestNode, name: string, qos: 1 | 2 = 1, fields: object = KEPT): Promise<Member> {
    const client = await node.connect({ clientId: name, ...fields })
    if (!client.sessionPresent) assert.equal(await client.subscribe(SHARED, { qos }), qos)
    return new Member(client, name)
  }

  /** Takes everything that has come, and answers it. True: there was something. */
  take(): boolean {
    const packets = this.client.takeAll()
    for (const packet of packets) {
      if (packet.type === 'publish') {
        this.got.push(packet.payload.toString())
        if (packet.qos > 0) this.client.acknowledge(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId)
      } else if (packet.type === 'pubrel') this.client.acknowledge('pubcomp', packet.packetId)
    }
    return packets.length > 0
  }
}

/** Lets the members take messages until they have the number of messages together. */
async function takeAll(members: readonly Member[], count: number): Promise<void> {
  const total = (): number => members.reduce((sum, { got }) => sum + got.length, 0)
  while (total() < count) {
    for (const member of members) member.take()
    await new Promise((resolve) => setImmediate(resolve))
  }
  // Nothing more is on its way to any of them.
  for (const { client } of members) {
    const more = await client.sync()
    assert.deepEqual(
      more.filter(({ type }) => type !== 'pubrel'),
      [],
    )
    for (const packet of more) if (packet.type === 'pubrel') client.acknowledge('pubcomp', packet.packetId)
  }
}

/** Lets the nodes say to each other what they have to say. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, number) => String(from + number))
}

async function publishAll(client: TestClient, payloads: readonly string[], qos: 1 | 2 = 1): Promise<void> {
  for (const payload of payloads) await publish(client, payload, qos)
}

function sorted(members: readonly Member[]): string[] {
  return members.flatMap(({ got }) => got).toSorted((one, other) => Number(one) - Number(other))
}

describe('a shared subscription with members at several nodes', () => {
  for (const qos of [1, 2] as const) {
    it(`gives each message at QoS ${qos} to one member, and each member its part`, async () => {
      const { a, b, c } = await three()
      const members = [
        await Member.join(a, 'one', qos),
        await Member.join(b, 'two', qos),
        await Member.join(c, 'three', qos),
      ]
      await publishAll(await c.connect(), numbers(0, 60), qos)
      await takeAll(members, 60)
      assert.deepEqual(sorted(members), numbers(0, 60))
      for (const { got } of members) assert.ok(got.length >= 10, `${got.length}`)
    })
  }

  it('gives QoS 0 messages to one member', async () => {
    const { a, b, c } = await three()
    const members = [await Member.join(a, 'one'), await Member.join(b, 'two')]
    const publisher = await c.connect()
    for (const number of numbers(0, 20)) publisher.publish(TOPIC_NAME, number)
    await takeAll(members, 20)
    assert.deepEqual(sorted(members), numbers(0, 20))
  })

  it('gives the messages of a member that goes away to members at other nodes', async () => {
    const { a, b, c } = await three()
    const first = await Member.join(a, 'one')
    const second = await Member.join(b, 'two')
    await publishAll(await c.connect(), numbers(0, 20))
    while (second.client.unread < 10) await new Promise((resolve) => setImmediate(resolve))
    second.client.drop()
    await takeAll([first], 20)
    assert.deepEqual(sorted([first]), numbers(0, 20))
  })

  it('keeps messages for members that are all away, and gives them where one comes back', async () => {
    const { a, b, c } = await three()
    const first = await Member.join(a, 'one')
    const second = await Member.join(b, 'two')
    first.client.drop()
    second.client.drop()
    await publishAll(await c.connect(), numbers(0, 20))
    const back = await Member.join(b, 'two')
    assert.equal(back.client.sessionPresent, true)
    await takeAll([back], 20)
    assert.deepEqual(sorted([back]), numbers(0, 20))
  })

  for (const [home, from] of [
    ['home', 'a'],
    ['node beside the home', 'b'],
  ] as const) {
    it(`keeps messages for its only member, which comes back elsewhere than at the ${home}`, async () => {
      const nodes = await three()
      const { a, c } = nodes
      // The first node with a member is the home of the group.
      const first = await Member.join(a, 'first', 1, { cleanStart: true })
      const only = await Member.join(nodes[from], 'only')
      first.client.disconnect()
      await first.client.closed()
      only.client.drop()
      const publisher = await c.connect()
      await publishAll(publisher, numbers(0, 20))
      const connecting = Member.join(c, 'only')
      for (let number = 20; number < 40; number += 1) publisher.publish(TOPIC_NAME, String(number), { qos: 1 })
      const back = await connecting
      assert.equal(back.client.sessionPresent, true)
      await takeAll([back], 40)
      assert.deepEqual(sorted([back]), numbers(0, 40))
    })
  }

  it('keeps messages for its only member, whose node dies', async () => {
    const { deployment, a, b, c } = await three()
    const first = await Member.join(a, 'first', 1, { cleanStart: true })
    const only = await Member.join(b, 'only')
    first.client.disconnect()
    await first.client.closed()
    only.client.drop()
    const publisher = await c.connect()
    await publishAll(publisher, numbers(0, 10))
    await b.broker.store?.checkpoint()
    await deployment.kill(b, c)
    await publishAll(publisher, numbers(10, 20))
    const back = await Member.join(c, 'only')
    assert.equal(back.client.sessionPresent, true)
    await takeAll([back], 20)
    assert.deepEqual(sorted([back]), numbers(0, 20))
  })

  it('loses nothing when its home dies and the heir is behind the log', async () => {
    const { deployment, a, b, c } = await three()
    const home = await Member.join(a, 'home', 1, { cleanStart: true })
    const heir = await Member.join(b, 'heir')
    const other = await Member.join(c, 'other')
    home.client.disconnect()
    await home.client.closed()
    const publisher = await c.connect()
    await publishAll(publisher, numbers(0, 10))
    await takeAll([heir, other], 10)
    heir.client.drop()
    await turns()
    b.engine.hold()
    await publishAll(publisher, numbers(10, 20))
    while (other.client.unread < 10) await new Promise((resolve) => setImmediate(resolve))
    await a.broker.store?.checkpoint()
    const dying = deployment.kill(a, b)
    const back = await Member.join(b, 'heir')
    other.client.drop()
    await turns()
    b.engine.goOn()
    await dying
    await takeAll([back], 20 - heir.got.length - other.got.length)
    assert.deepEqual(sorted([heir, other, back]), numbers(0, 20))
  })

  it('goes on when a member goes to another node', async () => {
    const { a, b, c } = await three()
    const first = await Member.join(a, 'one')
    const second = await Member.join(b, 'two')
    const publisher = await c.connect()
    await publishAll(publisher, numbers(0, 10))
    await takeAll([first, second], 10)
    const moved = await Member.join(c, 'one')
    assert.equal(moved.client.sessionPresent, true)
    first.client.takeAll()
    await publishAll(publisher, numbers(10, 30))
    await takeAll([first, second, moved], 30).catch(() => undefined)
    assert.deepEqual(sorted([first, second, moved]), numbers(0, 30))
    assert.ok(moved.got.length > 0)
  })

  it('loses nothing when a node with a member dies', async () => {
    const { deployment, a, b, c } = await three()
    const first = await Member.join(a, 'one')
    const second = await Member.join(b, 'two')
    const publisher = await c.connect()
    await publishAll(publisher, numbers(0, 20))
    while (second.client.unread < 10) await new Promise((resolve) => setImmediate(resolve))
    await deployment.kill(b, c)
    await publishAll(publisher, numbers(20, 30))
    await takeAll([first], 30)
    assert.deepEqual(sorted([first]), numbers(0, 30))
  })

  for (const qos of [1, 2] as const) {
    it(`loses nothing at QoS ${qos} when its home dies`, async () => {
      const { deployment, a, b, c } = await three()
      const first = await Member.join(a, 'one', qos)
      const second = await Member.join(b, 'two', qos)
      const third = await Member.join(c, 'three', qos)
      const publisher = await c.connect()
      await publishAll(publisher, numbers(0, 30), qos)
      await takeAll([first, second, third], 30)
      await a.broker.store?.checkpoint()
      await deployment.kill(a, b)
      await publishAll(publisher, numbers(30, 60), qos)
      await takeAll([second, third], 60 - first.got.length)
      assert.deepEqual(sorted([first, second, third]), numbers(0, 60))
    })
  }

  it('lets a node start whose Sessions are members, while the home is dead and has no heir', async () => {
    const { deployment, a, b, c } = await three()
    await Member.join(a, 'one')
    const second = await Member.join(b, 'two')
    await publishAll(await c.connect(), numbers(0, 10))
    second.client.drop()
    await b.broker.store?.checkpoint()
    const state = new Map(b.engine.state)
    a.engine.kill()
    deployment.nodes.declareGone(a.node)
    await deployment.kill(b, c)
    // The claims of b are those of its next process, as if that were its heir.
    const again = await deployment.start('b', state, (node) => {
      for (const home of deployment.nodes.homes.values()) if (home.node === c.node) home.node = node
    })
    assert.equal((await again.connect({ ...KEPT, clientId: 'two' })).sessionPresent, true)
    const back = await again.connect({ clientId: 'three' })
    assert.deepEqual(await back.sync(), [])
  })

  it('is refused to a tenant that makes more groups than it may have subscriptions', async () => {
    const { a } = await three({ maximumSubscriptionsPerTenant: 4 })
    const client = await a.connect({ clientId: 'one' })
    for (const name of ['1', '2', '3', '4']) {
      const topicFilter = `$share/${name}/${TOPIC_FILTER}`
      assert.equal(await client.subscribe(topicFilter, { qos: 1 }), 1)
      client.send({ type: 'unsubscribe', packetId: 100, topicFilters: [topicFilter] })
      await client.next('unsuback')
    }
    assert.equal(await client.subscribe(`$share/5/${TOPIC_FILTER}`, { qos: 1 }), 0x80)
    // Other tenants, groups that are known, and subscriptions of its own go on.
    const other = await a.connect({ clientId: 'one', userName: 'other' })
    assert.equal(await other.subscribe(`$share/5/${TOPIC_FILTER}`, { qos: 1 }), 1)
    assert.equal(await client.subscribe(`$share/1/${TOPIC_FILTER}`, { qos: 1 }), 1)
    assert.equal(await client.subscribe(TOPIC_FILTER, { qos: 1 }), 1)
  })

  it('ends when its last member does, and begins anew at the tail', async () => {
    const { a, b, c } = await three()
    const first = await Member.join(a, 'one', 1, { cleanStart: true })
    const second = await Member.join(b, 'two', 1, { cleanStart: true })
    first.client.disconnect()
    second.client.disconnect()
    await first.client.closed()
    await second.client.closed()
    await publishAll(await c.connect(), numbers(0, 5))
    const later = await Member.join(c, 'three', 1, { cleanStart: true })
    await publishAll(await c.connect(), numbers(5, 10))
    await takeAll([later], 5)
    assert.deepEqual(sorted([later]), numbers(5, 10))
  })
})
