/** Several nodes over real servers of NATS: the bus, homes, and who inherits a dead node. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { natsServerProgram } from '../engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import { NoAnswerError, RequestRefusedError } from '../nodes.ts'
import { TestedDeployment, takeAll } from './nodes-over-nats.testing.ts'
import type { TestedNode } from './nodes-over-nats.testing.ts'

const found = natsServerProgram()
const LONG = { timeout: 60_000 }
const HELLO = Buffer.from('hello')
const names = (of: readonly { readonly name: string }[]): string[] => of.map(({ name }) => name)

/** Some nodes send a heartbeat. An answer behind it proves that the asker has heard it. */
async function beats(nodes: readonly TestedNode[], asker: TestedNode, asked: TestedNode): Promise<void> {
  for (const { clock } of nodes) clock.forward(500)
  await heardBy(asked, asker)
}

/** Resolves when a message of one node has reached the other, and all that it had sent before. */
async function heardBy(asked: TestedNode, asker: TestedNode): Promise<void> {
  for (;;) {
    const answer = asker.nodes.bus.request(asked.self, 'heard', HELLO, 60_000)
    const error = await answer.catch((failure: unknown) => failure)
    if (error instanceof RequestRefusedError) return
  }
}

/** The first heir hangs at a stage until `end`. Resolves with its name when it is there. */
function holdFirst(
  deployment: TestedDeployment,
  stage: 'reading' | 'telling',
): { readonly first: Promise<string>; readonly end: () => void } {
  const { promise: first, resolve } = Promise.withResolvers<string>()
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const hold = async (heir: string): Promise<void> => {
    resolve(heir)
    if (heir === (await first)) await over
  }
  if (stage === 'reading') deployment.states.reading = hold
  else deployment.inheriting = hold
  return { first, end }
}

describe('nodes over NATS', () => {
  if ('missing' in found) {
    test('are tested with servers', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let made = 0
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
  })
  const deploy = (): TestedDeployment => {
    made += 1
    return new TestedDeployment(servers, `n${made}`, 3)
  }

  test('ask each other, refuse, and tell all', LONG, async () => {
    await using deployment = deploy()
    const [a, b, c] = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
    for (const { nodes } of [a, b, c]) assert.deepEqual(names(nodes.living()), ['a', 'b', 'c'])
    b.nodes.bus.serve('echo', (body, from) => Buffer.from(`${from.name} ${body.toString()}`))
    c.nodes.bus.serve('echo', () => {
      throw new Error('not today')
    })
    assert.equal((await a.nodes.bus.request(b.self, 'echo', HELLO, 5_000)).toString(), 'a hello')
    assert.equal((await b.nodes.bus.request(b.self, 'echo', HELLO, 5_000)).toString(), 'b hello')
    await assert.rejects(a.nodes.bus.request(c.self, 'echo', HELLO, 5_000), (error) => {
      return error instanceof RequestRefusedError && error.message === 'not today'
    })
    await assert.rejects(a.nodes.bus.request(b.self, 'other', HELLO, 5_000), RequestRefusedError)
    const nobody = { name: 'd', incarnation: 'd'.repeat(16) }
    await assert.rejects(a.nodes.bus.request(nobody, 'echo', HELLO, 30_000), NoAnswerError)
    const gathered = await a.nodes.bus.gather('echo', HELLO, 5_000)
    assert.deepEqual(names(gathered.missing), ['c'])
    assert.deepEqual(
      gathered.answers.map(({ from, body }) => `${from.name}: ${body.toString()}`),
      ['b: a hello'],
    )
    const heard: string[] = []
    for (const { nodes, self } of [a, b, c]) {
      nodes.bus.hear('word', (body, from) => heard.push(`${self.name} hears ${from.name} ${body.toString()}`))
    }
    a.nodes.bus.cast('word', Buffer.from('1'))
    a.nodes.bus.cast('word', Buffer.from('2'))
    // A request behind the casts: its answer proves that b has heard them.
    await a.nodes.bus.request(b.self, 'echo', HELLO, 5_000)
    assert.deepEqual(
      heard.filter((one) => !one.startsWith('c')),
      ['b hears a 1', 'b hears a 2'],
    )
    // The handler of c never ends: the request ends by its time.
    c.nodes.bus.serve('never', () => new Promise<Buffer>(() => {}))
    await assert.rejects(a.nodes.bus.request(c.self, 'never', HELLO, 50), NoAnswerError)
  })

  test('never take the same thing twice: 100 rounds of three nodes', LONG, async () => {
    await using deployment = deploy()
    const all = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
    for (let round = 0; round < 100; round += 1) {
      const key = `thing/${round % 10}`
      const homes = await Promise.all(all.map(({ nodes }) => nodes.homes.find(key, 5_000)))
      const taken = await Promise.all(all.map(({ nodes }, at) => nodes.homes.take(key, homes[at] ?? assert.fail())))
      assert.equal(taken.filter(Boolean).length, 1, `round ${round}: ${taken.join()}`)
      const winner = all[taken.indexOf(true)]
      for (const { nodes } of all) assert.deepEqual((await nodes.homes.find(key, 5_000)).node, winner?.self)
    }
  })

  test('know which things are here, and release what is over', LONG, async () => {
    await using deployment = deploy()
    const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
    const keys = Array.from({ length: 600 }, (_, number) => `thing/${number}`)
    const mine = keys.filter((_, number) => number % 3 === 0)
    await Promise.all(mine.map((key) => takeAll(a, [key])))
    await takeAll(b, ['thing/1'])
    assert.deepEqual([...(await a.nodes.homes.areHere(keys))].toSorted(), mine.toSorted())
    assert.deepEqual([...(await b.nodes.homes.areHere(keys))], ['thing/1'])
    a.nodes.homes.release('thing/0')
    a.nodes.homes.release('thing/3')
    assert.equal((await a.nodes.homes.find('thing/0', 5_000)).node, undefined)
    assert.deepEqual((await b.nodes.homes.find('thing/0', 5_000)).node, a.self)
    assert.deepEqual(await a.nodes.homes.areHere(['thing/0', 'thing/6']), new Set(['thing/6']))
    // Taken again: the release is off.
    await takeAll(a, ['thing/3'])
    a.clock.forward(31_000)
    // The release goes to the servers; until then b finds a.
    while ((await b.nodes.homes.find('thing/0', 5_000)).node !== undefined);
    assert.deepEqual((await b.nodes.homes.find('thing/3', 5_000)).node, a.self)
    await takeAll(b, ['thing/0'])
    assert.equal(await a.nodes.homes.take('thing/0', { node: undefined, revision: 0 }), false)
  })

  test('inherit a dead node once, within 6 s, and only what it was home to', LONG, async () => {
    await using deployment = deploy()
    const [a, b, c] = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
    await takeAll(a, ['x', 'y'])
    await takeAll(b, ['z'])
    for (const key of ['own', 'x.1', 'x.2', 'y', 'z', 'unknown']) deployment.states.of('a').set(key, Buffer.from(key))
    const asked = b.nodes.bus.request(a.self, 'echo', HELLO, 30_000)
    const refused = assert.rejects(asked)
    const since = performance.now()
    await a.nodes.close()
    await deployment.until(() => b.gone.length === 1 && c.gone.length === 1)
    const homes = await Promise.all([b, c].map(({ nodes }) => nodes.homes.find('x', 20_000)))
    const tookMs = performance.now() - since
    assert.ok(tookMs < 6_000, `${tookMs} ms`)
    const [heir, other] = homes[0]?.node?.name === 'b' ? [b, c] : [c, b]
    assert.deepEqual(
      homes.map(({ node }) => node),
      [heir.self, heir.self],
    )
    assert.deepEqual(heir.inherited, ['a died x.1,x.2,y'])
    assert.deepEqual(other.inherited, [])
    assert.deepEqual([b.gone, c.gone], [['a'], ['a']])
    assert.deepEqual([...deployment.states.of(heir.self.name).keys()].toSorted(), ['x.1', 'x.2', 'y'])
    assert.equal(deployment.states.byNode.has('a'), false)
    assert.deepEqual(await heir.nodes.homes.areHere(['x', 'y']), new Set(['x', 'y']))
    await takeAll(other, ['x'])
    assert.deepEqual((await heir.nodes.homes.find('x', 5_000)).node, other.self)
    assert.deepEqual(deployment.states.fenced, [`${heir.self.name} a`])
    await refused
  })

  for (const [how, heirOf] of [
    ['an heir', undefined],
    ['a later process of the node', 'a'],
  ] as const) {
    test(`leave a thing at its home when the claim of a dead node comes behind ${how}`, LONG, async () => {
      await using deployment = deploy()
      const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
      await takeAll(b, ['x', 'y'])
      await takeAll(a, ['z'])
      // The dead node has written the things to its state, and its claims are on their way.
      for (const key of ['x', 'y', 'z']) deployment.states.of('a').set(key, HELLO)
      await a.nodes.close()
      const heir = heirOf === undefined ? b : await deployment.join(heirOf)
      if (heir === b) await deployment.until(() => b.inherited.length === 1)
      assert.deepEqual((await b.nodes.homes.find('z', 20_000)).node, heir.self)
      await deployment.claimLate('x', a.self, b.self)
      await deployment.claimLate('y', a.self, b.self)
      for (const { nodes } of [b, heir]) assert.deepEqual((await nodes.homes.find('x', 5_000)).node, b.self)
      assert.deepEqual(await b.nodes.homes.areHere(['x', 'y']), new Set(['x', 'y']))
      const c = await deployment.join('c')
      await takeAll(c, ['x'])
      assert.deepEqual((await b.nodes.homes.find('x', 5_000)).node, c.self)
      b.nodes.homes.release('y')
      b.clock.forward(31_000)
      while ((await c.nodes.homes.find('y', 5_000)).node !== undefined);
    })
  }

  test('leave a thing with the heir when a living node takes it from the dead one too late', LONG, async () => {
    await using deployment = deploy()
    const [a, b, c] = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
    await takeAll(a, ['x'])
    deployment.states.of('a').set('x', HELLO)
    const known = await b.nodes.homes.find('x', 5_000)
    await a.nodes.leave()
    await deployment.until(() => b.inherited.length + c.inherited.length === 1)
    const [heir, other] = b.inherited.length === 1 ? [b, c] : [c, b]
    assert.deepEqual((await other.nodes.homes.find('x', 20_000)).node, heir.self)
    assert.equal(await other.nodes.homes.take('x', known), false)
    // The other node had asked whether the dead one is at home before it died.
    await deployment.claimLate('x', other.self, a.self)
    for (const { nodes } of [heir, other]) assert.deepEqual((await nodes.homes.find('x', 5_000)).node, heir.self)
    assert.deepEqual(await heir.nodes.homes.areHere(['x']), new Set(['x']))
    assert.deepEqual(await other.nodes.homes.areHere(['x']), new Set())
    await takeAll(other, ['x'])
    assert.deepEqual((await heir.nodes.homes.find('x', 5_000)).node, other.self)
  })

  test('inherit a node that left at once', LONG, async () => {
    await using deployment = deploy()
    const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
    await takeAll(a, ['x'])
    deployment.states.of('a').set('x', HELLO)
    const since = performance.now()
    await a.nodes.leave()
    await deployment.until(() => b.gone.length === 1)
    assert.deepEqual((await b.nodes.homes.find('x', 20_000)).node, b.self)
    assert.ok(performance.now() - since < 2_000)
    assert.deepEqual(b.inherited, ['a left x'])
    const [lost, ...others] = b.nodes.lost()
    assert.deepEqual([lost?.name, lost?.isOrderly, lost?.heir, others], ['a', true, 'b', []])
    assert.ok(Math.abs((lost?.endedAtMs ?? 0) - b.clock.now()) < 10_000)
    await deployment.join('a')
    assert.deepEqual(b.nodes.lost(), [])
  })

  test('do not inherit a node that is paused for a second', LONG, async () => {
    await using deployment = deploy()
    const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
    a.clock.pause()
    for (let beat = 0; beat < 3; beat += 1) await beats([b], b, a)
    const silentMs = (): number => b.nodes.living().find(({ name }) => name === 'a')?.silentMs ?? Infinity
    assert.ok(silentMs() >= 1_000, `${silentMs()} ms`)
    a.clock.goOn()
    await beats([a], b, a)
    assert.ok(silentMs() < 1_000, `${silentMs()} ms`)
    assert.deepEqual(b.gone, [])
  })

  test('end when another process has taken their place', LONG, async () => {
    await using deployment = deploy()
    const first = await deployment.join('a')
    const b = await deployment.join('b')
    await takeAll(first, ['x'])
    const second = await deployment.join('a', { begins: false })
    await first.replaced
    await first.nodes.close()
    // The state is its own before the others find it.
    assert.deepEqual(await second.nodes.homes.areHere(['x', 'y']), new Set(['x']))
    const waiting = b.nodes.homes.find('x', 20_000)
    await assert.rejects(b.nodes.homes.find('x', 500))
    await deployment.begin(second)
    assert.deepEqual((await waiting).node, second.self)
    assert.equal(second.nodes.hasForeignState, false)
    assert.deepEqual([second.inherited, b.inherited, deployment.states.fenced], [[], [], []])
  })

  test('start again with an empty state when an heir has theirs', LONG, async () => {
    await using deployment = deploy()
    const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
    await takeAll(a, ['x'])
    await a.nodes.close()
    await deployment.until(() => b.inherited.length === 1)
    const again = await deployment.join('a')
    assert.equal(again.nodes.hasForeignState, true)
    assert.deepEqual((await again.nodes.homes.find('x', 5_000)).node, b.self)
    assert.deepEqual(names(b.nodes.living()), ['a', 'b'])
  })

  for (const stage of ['reading', 'telling'] as const) {
    test(`inherit an heir that died while ${stage}, and the first dead node with it`, LONG, async () => {
      await using deployment = deploy()
      const [a, b, c] = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
      await takeAll(a, ['x'])
      await takeAll(b, ['y'])
      await takeAll(c, ['z'])
      for (const [name, key] of Object.entries({ a: 'x', b: 'y', c: 'z' })) deployment.states.of(name).set(key, HELLO)
      const hang = holdFirst(deployment, stage)
      await a.nodes.close()
      const heir = (await hang.first) === 'b' ? b : c
      const last = heir === b ? c : b
      const closed = heir.nodes.close()
      for (const key of ['x', 'y', 'z']) {
        await deployment.until(() => last.gone.length === 2)
        assert.deepEqual((await last.nodes.homes.find(key, 20_000)).node, last.self)
      }
      const own = heir === b ? 'y' : 'z'
      // The copy in the heir’s state comes with it.
      const expected =
        stage === 'reading' ? ['a died x', `${heir.self.name} died ${own}`] : [`${heir.self.name} died x,${own}`]
      assert.deepEqual(last.inherited.toSorted(), expected)
      assert.deepEqual([...deployment.states.of(last.self.name).keys()].toSorted(), ['x', 'y', 'z'])
      hang.end()
      await closed
    })

    test(`start again when the only heir died while ${stage}`, LONG, async () => {
      await using deployment = deploy()
      const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
      await takeAll(a, ['x'])
      deployment.states.of('a').set('x', HELLO)
      const hang = holdFirst(deployment, stage)
      await a.nodes.close()
      await hang.first
      const closed = b.nodes.close()
      const again = await deployment.join('a', { begins: false })
      assert.equal(again.nodes.hasForeignState, stage === 'telling')
      const isHere = (await again.nodes.homes.areHere(['x'])).has('x')
      assert.equal(isHere, stage === 'reading')
      await deployment.begin(again)
      assert.deepEqual((await again.nodes.homes.find('x', 20_000)).node, again.self)
      assert.deepEqual(deployment.states.of('a').get('x'), HELLO)
      hang.end()
      await closed
    })
  }

  test('believe nobody dead while all servers are away', LONG, async () => {
    await using deployment = deploy()
    const [a, b] = await Promise.all([deployment.join('a'), deployment.join('b')])
    await takeAll(a, ['x'])
    for (const name of servers.names) await servers.signal(name, 'SIGKILL')
    for (let beat = 0; beat < 8; beat += 1) for (const { clock } of [a, b]) clock.forward(500)
    for (const name of servers.names) servers.restart(name)
    await servers.ready()
    assert.deepEqual((await b.nodes.homes.find('x', 60_000)).node, a.self)
    // Time goes on when both are connected again: in this test six heartbeats take no time.
    await a.nodes.homes.find('x', 60_000)
    await Promise.all([heardBy(a, b), heardBy(b, a)])
    for (let beat = 0; beat < 8; beat += 1) {
      await beats([a, b], b, a)
      await heardBy(a, b)
    }
    assert.deepEqual([a.gone, b.gone, a.inherited, b.inherited], [[], [], [], []])
  })
})
