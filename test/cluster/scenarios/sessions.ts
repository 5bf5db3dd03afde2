/** Sessions that are taken over, by one client and by several at once. */
import type { Packet } from 'mqtt-packet'
import { WireClient, codeOf } from '../../support/wire-client.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { publishFully, readMessages } from '../wire-steps.ts'

const SESSION_TAKEN_OVER = 0x8e
const ROUNDS = 15
const AT_ONCE = 6
/** By then all but one connection must have ended, ms. */
const OTHERS_END_MS = 10_000

export const SESSIONS: readonly Scenario[] = [
  { number: 2, title: 'the same Client Identifier on another node', nodes: 1, run: takeOver },
  { number: 3, title: `${AT_ONCE} CONNECTs at once, ${ROUNDS} rounds`, nodes: 1, run: manyAtOnce },
]

async function takeOver(stage: Stage): Promise<void> {
  const place = stage.anyPlace()
  const [from, to] = [stage.node(place), stage.node(place + 1)]
  const topic = await stage.newTopic()
  const clientId = stage.unique('scene-taken')
  const { client: first } = await stage.connect(from, { clientId, clean: false })
  await first.subscribe(topic, 1)
  const startMs = performance.now()
  const { client: second, isSessionPresent } = await stage.connect(to, { clientId, clean: false })
  stage.bar(`CONNACK of ${to.name} for a client of ${from.name}`, performance.now() - startMs, 2_000)
  stage.must(isSessionPresent, `the Session of ${from.name} is unknown at ${to.name}`)
  const last = await first.next()
  const isTold = last?.cmd === 'disconnect' && codeOf(last) === SESSION_TAKEN_OVER
  stage.must(isTold, `the first connection got ${JSON.stringify(last)}, not DISCONNECT with 0x8E`)
  await publishFully(await stage.connectPublisher(from), topic, 'after')
  const [message] = await readMessages(second, 1)
  stage.must(message?.payload.toString() === 'after', 'the Session has lost its subscription')
}

/** A connection among several with one Client Identifier. */
interface Rival {
  readonly node: ClusterNode
  readonly client: WireClient
  readonly packets: Packet[]
  hasEnded: boolean
}

async function manyAtOnce(stage: Stage): Promise<void> {
  const topic = await stage.newTopic()
  const publisher = await stage.connectPublisher(stage.node(0))
  const clientId = stage.unique('scene-rival')
  for (let round = 1; round <= ROUNDS; round += 1) {
    const rivals = await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => openRival(stage.node(number))))
    const properties = { sessionExpiryInterval: 300 }
    for (const { client } of rivals) {
      client.send(client.connectPacket(stage.deployment.place.integrator, { clientId, clean: false, properties }))
    }
    const reading = rivals.map((rival) => readToEnd(rival))
    const alive = (): readonly Rival[] => rivals.filter(({ hasEnded }) => !hasEnded)
    const isOne = (): boolean => alive().length === 1 && alive()[0]?.packets[0]?.cmd === 'connack'
    const tookMs = await until(isOne, OTHERS_END_MS)
    stage.must(tookMs < Infinity, `round ${round}: ${alive().length} of ${AT_ONCE} connections live`)
    const [winner] = alive()
    if (winner !== undefined) {
      winner.client.send(winner.client.subscribePacket(topic, 1))
      await until(() => winner.packets.some(({ cmd }) => cmd === 'suback'), OTHERS_END_MS)
      await publishFully(publisher, topic, `round ${round}`)
      const hasIt = (): boolean =>
        winner.packets.some((one) => one.cmd === 'publish' && one.payload.toString() === `round ${round}`)
      const arrivedMs = await until(hasIt, OTHERS_END_MS)
      stage.must(arrivedMs < Infinity, `round ${round}: the connection at ${winner.node.name} does not work`)
    }
    for (const { client } of rivals) client.destroy()
    await Promise.all(reading)
  }
}

async function openRival(node: ClusterNode): Promise<Rival> {
  return { node, client: await WireClient.open(node, 5), packets: [], hasEnded: false }
}

/** Notes all packets of a connection, and acknowledges messages, until it ends. */
async function readToEnd(rival: Rival): Promise<void> {
  const { client, packets } = rival
  for (let packet = await client.next(); packet !== undefined; packet = await client.next()) {
    packets.push(packet)
    if (packet.cmd === 'publish') client.send({ cmd: 'puback', messageId: packet.messageId as number })
  }
  rival.hasEnded = true
}
