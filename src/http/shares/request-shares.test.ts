import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { RequestShares } from './request-shares.ts'
import type { Admission, Payer, RequestRates } from './request-shares.ts'

const RATES: RequestRates = {
  organization: (id) => (id === 'large' ? 100 : 2),
  networkServer: () => 50,
  person: () => 2,
  globalAdmin: () => 1000,
  network: () => 2,
}

function open() {
  const clock = new TestClock()
  const shares = new RequestShares(clock, RATES)
  return { clock, shares }
}

const organization = (id: string): Payer => ({ kind: 'organization', id })

/** Sends requests one after the other. Each answer is worked on at once. */
async function admitted(shares: RequestShares, payer: Payer, count: number): Promise<number> {
  let done = 0
  for (let request = 0; request < count; request += 1) {
    const admission = await Promise.race([shares.enter(payer), settled()])
    if (admission === undefined) return done
    if (admission.isAdmitted) {
      admission.release()
      done += 1
    }
  }
  return done
}

/** Undefined, after everything that needs no time has happened. */
async function settled(): Promise<undefined> {
  await new Promise((resolve) => setImmediate(resolve))
  return undefined
}

test('an organization may send the requests of ten seconds at once, and then its rate; others have their own', async () => {
  const { clock, shares } = open()
  assert.equal(await admitted(shares, organization('a'), 100), 20)
  assert.equal(await admitted(shares, organization('b'), 100), 20)
  assert.equal(await admitted(shares, { kind: 'person', id: 'a' }, 100), 20)
  assert.equal(await admitted(shares, organization('large'), 500), 500)
  clock.advance(1_000_000)
  assert.equal(await admitted(shares, organization('a'), 100), 20)
})

test('a request over the rate waits for up to a second; one that would wait longer is refused a second later', async () => {
  const { clock, shares } = open()
  await admitted(shares, organization('a'), 20)
  const answers: Admission[] = []
  const ask = () => void shares.enter(organization('a')).then((answer) => answers.push(answer))
  ask()
  ask()
  ask()
  await settled()
  assert.equal(answers.length, 0)
  clock.advance(500)
  await settled()
  assert.deepEqual(
    answers.map(({ isAdmitted }) => isAdmitted),
    [true],
  )
  clock.advance(500)
  await settled()
  assert.deepEqual(
    answers.map(({ isAdmitted }) => isAdmitted),
    [true, true, false],
  )
  const [, , refusal] = answers
  assert.deepEqual(refusal, {
    isAdmitted: false,
    sentence: 'too many requests: at most 2 in a second, on average over ten seconds',
    retryAfterSeconds: 1,
  })
})

test('refusals that wait have a bound: further ones come at once', async () => {
  const { shares } = open()
  await admitted(shares, organization('a'), 20)
  let refusals = 0
  const ask = () => void shares.enter(organization('a')).then(({ isAdmitted }) => (refusals += isAdmitted ? 0 : 1))
  // Two wait for their turn, and 64 refusals for a second.
  for (let request = 0; request < 66; request += 1) ask()
  await settled()
  assert.equal(refusals, 0)
  ask()
  await settled()
  assert.equal(refusals, 1)
})

test('an organization has 64 requests under way, and others have theirs', async () => {
  const { clock, shares } = open()
  const enter = () => shares.enter(organization('large'))
  const releases = []
  for (let request = 0; request < 64; request += 1) {
    const admission = await enter()
    assert.ok(admission.isAdmitted)
    releases.push(admission.release)
  }
  const refused = enter()
  clock.advance(1000)
  assert.equal((await refused).isAdmitted, false)
  assert.equal(await admitted(shares, organization('b'), 1), 1)
  releases.pop()?.()
  assert.equal((await enter()).isAdmitted, true)
})

test('with the places of all taken, each organization has four of its own', async () => {
  const { clock, shares } = open()
  for (let payer = 0; payer < 1024 / 16; payer += 1) {
    for (let request = 0; request < 16; request += 1) await shares.enter(organization(`organization ${payer}`))
  }
  for (let request = 0; request < 4; request += 1) {
    assert.equal((await shares.enter(organization('b'))).isAdmitted, true)
  }
  const refused = shares.enter(organization('b'))
  clock.advance(1000)
  assert.equal((await refused).isAdmitted, false)
})

test('requests of strangers are slowed down by network, and never refused', async () => {
  const { clock, shares } = open()
  const network: Payer = { kind: 'network', id: '192.0.2.1' }
  let answered = 0
  for (let request = 0; request < 1000; request += 1) void shares.slowDown(network).then(() => (answered += 1))
  await settled()
  assert.equal(answered, 20)
  await shares.slowDown({ kind: 'network', id: '192.0.2.2' })
  clock.advance(1000)
  await settled()
  assert.equal(answered, 1000)
  clock.advance(1500)
  await shares.slowDown(network)
})

test('the use of an organization is its requests of the last ten seconds', async () => {
  const { clock, shares } = open()
  assert.equal(shares.requestsPerSecondOf('large'), 0)
  for (let second = 0; second < 30; second += 1) {
    await admitted(shares, organization('large'), 30)
    clock.advance(1000)
  }
  assert.equal(Math.round(shares.requestsPerSecondOf('large')), 30)
  clock.advance(5000)
  assert.equal(Math.round(shares.requestsPerSecondOf('large')), 15)
  clock.advance(15_000)
  assert.equal(shares.requestsPerSecondOf('large'), 0)
  assert.equal(shares.requestsPerSecondOf('a made-up id'), 0)
})

test('without a bound of the rate nothing waits', async () => {
  const shares = new RequestShares(new TestClock(), { ...RATES, network: () => Infinity })
  for (let request = 0; request < 1000; request += 1) await shares.slowDown({ kind: 'network', id: '192.0.2.1' })
})
