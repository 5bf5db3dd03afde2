/**
 * Every credential × every topic shape × SUBSCRIBE, PUBLISH at each QoS and the Will Message, in
 * MQTT 3.1.1 and 5.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Packet } from 'mqtt-packet'
import { createMatrixDeployment } from '../support/access-matrix-deployment.ts'
import type { Credential, MatrixDeployment } from '../support/access-matrix-deployment.ts'
import { connackOf, Oracle, willConnackOf } from '../support/access-matrix-oracle.ts'
import type { Decision } from '../support/access-matrix-oracle.ts'
import { topicShapes } from '../support/access-matrix-topics.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { codeOf, reasonOf, WireClient } from '../support/wire-client.ts'
import type { Version } from '../support/wire-client.ts'
import { Witnesses } from '../support/witnesses.ts'

const VERSIONS = [4, 5] as const
const QUALITIES = [0, 1, 2] as const

let service: RunningService
let deployment: MatrixDeployment
let oracle: Oracle
let topics: readonly string[]
let witnesses: Witnesses
let cases = 0

before(async () => {
  service = await startInProcess()
  deployment = await createMatrixDeployment(service)
  oracle = new Oracle(deployment.places)
  topics = topicShapes(deployment.places)
  witnesses = await Witnesses.open(service, deployment)
})

after(async () => {
  witnesses.close()
  await service.stop()
})

test('a credential that is none gets CONNACK alone, whatever is sent right behind CONNECT', async () => {
  await inParallel(refused(), async (credential, version) => {
    const title = `${credential.name}, MQTT ${version}`
    using client = await WireClient.open(service, version)
    const behind = topics.flatMap((topic) => [
      client.subscribePacket(topic),
      ...QUALITIES.map((qos) => client.publishPacket(topic, witnesses.marked(undefined, `${title}, ${topic}`), qos)),
    ])
    client.send(client.connectPacket(credential.login), ...behind)
    assertConnackAlone(await client.rest(), version, connackOf(credential.standing, version), title)
    cases += behind.length
  })
})

test('a credential that is none leaves no Will Message', async () => {
  const everybodys = topics.filter((topic) =>
    good().some(({ standing }) => oracle.publish(standing, topic) === 'granted'),
  )
  await inParallel(refused(), async (credential, version) => {
    for (const topic of everybodys) {
      const title = `${credential.name}, MQTT ${version}, the Will Topic ${topic}`
      using client = await WireClient.open(service, version)
      client.send(
        client.connectPacket(credential.login, {
          will: { topic, payload: witnesses.marked(undefined, title), qos: 1 },
        }),
      )
      assertConnackAlone(await client.rest(), version, connackOf(credential.standing, version), title)
      cases += 1
    }
  })
})

test('SUBSCRIBE is granted for what the topic endpoints hand out and what that covers, and refused for all else', async () => {
  for (const credential of good()) {
    for (const version of VERSIONS) {
      const byDecision = Map.groupBy(topics, (topic) => oracle.subscribe(credential.standing, topic, version))
      for (const [decision, filters] of byDecision) {
        // A filter that ends the connection needs a connection of its own; the others share one.
        const groups = decision === 'malformed' ? filters.map((filter) => [filter]) : [filters]
        for (const group of groups) await subscribeAll(credential, version, decision, group)
      }
    }
  }
})

test('PUBLISH is taken for the commands, or the events, of one’s own devices, and refused visibly for all else', async () => {
  await inParallel(good(), async (credential, version) => {
    for (const qos of QUALITIES) {
      // One connection for as long as it lives: a refusal that can be told does not end it.
      let client = await connected(credential, version)
      for (const topic of topics) {
        const title = `${credential.name}, MQTT ${version}, ${topic}, QoS ${qos}`
        const decision = oracle.publish(credential.standing, topic)
        const delivered = oracle.delivered(credential.standing, topic)
        client.send(client.publishPacket(topic, witnesses.marked(delivered, title), qos))
        const isAlive = await assertAnswer(client, decision, credential, qos, title)
        if (!isAlive) client = await connected(credential, version)
        cases += 1
      }
      client.destroy()
    }
  })
})

test('a Will Message is taken where a PUBLISH is, and refused with the CONNECT that carries it', async () => {
  await inParallel(good(), async (credential, version) => {
    for (const topic of topics) {
      const title = `${credential.name}, MQTT ${version}, the Will Topic ${topic}`
      const decision = oracle.publish(credential.standing, topic)
      const payload = witnesses.marked(oracle.delivered(credential.standing, topic), title)
      using client = await WireClient.open(service, version)
      const code = await client.connect(credential.login, { will: { topic, payload, qos: 1 } })
      assert.equal(code, willConnackOf(decision, version), title)
      cases += 1
      // A client that dies here leaves its Will Message; one that was refused has none to leave.
    }
  })
})

test('what was granted was delivered, once, and nothing of what was refused', async (context) => {
  await witnesses.testify()
  context.diagnostic(`access matrix of the broker: ${cases} cases`)
})

function good(): Credential[] {
  return deployment.credentials.filter(({ standing }) => standing.kind !== 'refused')
}

function refused(): Credential[] {
  return deployment.credentials.filter(({ standing }) => standing.kind === 'refused')
}

async function inParallel(
  credentials: readonly Credential[],
  check: (credential: Credential, version: Version) => Promise<void>,
): Promise<void> {
  await Promise.all(credentials.flatMap((credential) => VERSIONS.map((version) => check(credential, version))))
}

async function connected(credential: Credential, version: Version): Promise<WireClient> {
  const client = await WireClient.open(service, version)
  assert.equal(await client.connect(credential.login), 0, credential.name)
  return client
}

function assertConnackAlone(packets: readonly Packet[], version: Version, code: number, title: string): void {
  const [connack, ...others] = packets
  assert.ok(connack?.cmd === 'connack' && others.length === 0, `${title}: ${JSON.stringify(packets)}`)
  assert.equal(codeOf(connack), code, title)
  assert.equal(connack.sessionPresent, false)
  assert.equal(reasonOf(connack) !== undefined, version === 5, title)
}

async function subscribeAll(
  credential: Credential,
  version: Version,
  decision: Decision,
  filters: readonly string[],
): Promise<void> {
  const client = await connected(credential, version)
  const refusal = decision === 'beyond limits' ? 0x8f : 0x87
  const code = decision === 'granted' ? 1 : version === 4 ? 0x80 : refusal
  for (const filter of filters) {
    const title = `${credential.name}, MQTT ${version}, ${decision}: ${filter}`
    client.send(client.subscribePacket(filter))
    const answer = await client.next()
    if (decision === 'malformed') {
      assert.ok(answer?.cmd === 'disconnect' && codeOf(answer) === 0x8f, title)
    } else {
      assert.ok(answer?.cmd === 'suback', title)
      assert.deepEqual(answer.granted, [code], title)
      const isTold = version === 5 && decision !== 'granted'
      assert.equal(reasonOf(answer)?.startsWith(`${filter}: `.slice(0, 200)) ?? false, isTold, title)
    }
    cases += 1
  }
  // A command goes to one network server, and that is to be the witness.
  const takesCommands = decision === 'granted' && credential.standing.kind === 'network server'
  if (decision === 'malformed' || takesCommands) client.destroy()
  else witnesses.watch(client, decision === 'granted', `${credential.name}, MQTT ${version}`)
}

/** Asserts the publisher's answer; returns whether its connection lives. */
async function assertAnswer(
  client: WireClient,
  decision: Decision,
  credential: Credential,
  qos: 0 | 1 | 2,
  title: string,
): Promise<boolean> {
  const { version } = client
  if (decision === 'granted' || decision === 'kept') {
    const kinds = [[], ['puback'], ['pubrec']][qos]
    if (qos === 0) assert.deepEqual(await client.ping(), [], title)
    else {
      const answer = await client.next()
      assert.deepEqual([answer?.cmd], kinds, title)
      assert.equal(codeOf(answer as Packet), 0, title)
    }
    return true
  }
  const code = decision === 'refused' ? 0x87 : 0x90
  // A network server's other devices must go on, so that what it can't be told is discarded and
  // counted.
  const isDiscarded = decision === 'refused' && credential.standing.kind === 'network server'
  const isAcknowledged = qos > 0 && decision !== 'malformed' && (version === 5 || isDiscarded)
  if (isAcknowledged) {
    const answer = await client.next()
    assert.equal(answer?.cmd, qos === 1 ? 'puback' : 'pubrec', title)
    assert.equal(codeOf(answer as Packet), version === 5 ? code : 0, title)
    assert.equal(reasonOf(answer) !== undefined, version === 5, title)
  }
  if (isAcknowledged || isDiscarded) {
    assert.deepEqual(await client.ping(), [], title)
    return true
  }
  const [disconnect, ...others] = await client.rest()
  assert.deepEqual(others, [], title)
  assert.equal(disconnect?.cmd, version === 4 ? undefined : 'disconnect', title)
  if (disconnect !== undefined) {
    assert.equal(codeOf(disconnect), code, title)
    assert.notEqual(reasonOf(disconnect), undefined, title)
  }
  return false
}
