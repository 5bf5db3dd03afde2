/** Messages between nodes without a fault. */
import type { Scenario, Stage } from '../scenario.ts'
import { eventIdOf, messagesSoFar, publishFully, readMessages } from '../wire-steps.ts'

const LATENCY_ROUNDS = 8
const STORED = 200
const FROM_EACH = 100
const GROUP_MESSAGES = 300

export const DELIVERY: readonly Scenario[] = [
  { number: 1, title: 'QoS 0, 1 and 2 from each node to each node', nodes: 1, run: fromEachToEach },
  { number: 4, title: 'subscribe on A, publish by B, return on C', nodes: 1, run: returnElsewhere },
  { number: 5, title: 'two publishers on two nodes, one topic', nodes: 1, run: oneOrder },
  { number: 6, title: 'a shared subscription with a member at each node', nodes: 1, run: sharedEvenly },
]

async function fromEachToEach(stage: Stage): Promise<void> {
  const latencies: number[] = []
  await stage.load.quietly(async () => {
    for (const to of stage.nodes) {
      const topic = await stage.newTopic()
      const { client: reader } = await stage.connect(to, { clientId: stage.unique('scene-reader') })
      await reader.subscribe(topic, 2)
      for (const from of stage.nodes) {
        const publisher = await stage.connectPublisher(from)
        for (let round = 0; round < LATENCY_ROUNDS; round += 1) {
          for (const qos of [0, 1, 2] as const) {
            const text = `${from.name} ${round} ${qos}`
            const sentAtMs = performance.now()
            publisher.send(publisher.publishPacket(topic, text, qos))
            const [message] = await readMessages(reader, 1)
            latencies.push(performance.now() - sentAtMs)
            stage.must(message?.payload.toString() === text, `${to.name} got ${String(message?.payload)}, not ${text}`)
            const answer = qos === 0 ? undefined : await publisher.next()
            if (answer?.cmd === 'pubrec') {
              publisher.send({ cmd: 'pubrel', messageId: answer.messageId as number })
              await publisher.next()
            }
          }
        }
      }
    }
  })
  const sorted = latencies.toSorted((a, b) => a - b)
  stage.bar('p99 from PUBLISH to its reader', sorted[Math.floor(sorted.length * 0.99)] as number, 100)
}

async function returnElsewhere(stage: Stage): Promise<void> {
  const [a, b, c] = [0, 1, 2].map((step) => stage.node(stage.anyPlace() + step))
  if (a === undefined || b === undefined || c === undefined) return
  const topic = await stage.newTopic()
  const clientId = stage.unique('scene-reader')
  const { client: first } = await stage.connect(a, { clientId, clean: false })
  await first.subscribe(topic, 2)
  first.destroy()
  const publisher = await stage.connectPublisher(b)
  const sent = Array.from({ length: STORED }, (_, number) => `message ${number}`)
  for (const [number, text] of sent.entries())
    await publishFully(publisher, topic, text, { qos: number % 2 === 0 ? 1 : 2 })
  const { client: again, isSessionPresent } = await stage.connect(c, { clientId, clean: false })
  stage.must(isSessionPresent, `the Session of ${a.name} is unknown at ${c.name}`)
  if (!isSessionPresent) return
  const got = await readMessages(again, STORED)
  // MQTT orders the messages of one QoS [MQTT-4.6.0-6].
  for (const qos of [1, 2]) {
    const texts = got.filter((message) => message.qos === qos).map(({ payload }) => payload.toString())
    const expected = sent.filter((_, number) => (number % 2 === 0 ? 1 : 2) === qos)
    stage.must(texts.join() === expected.join(), `${c.name} delivered at QoS ${qos}: ${texts.join()}`)
  }
  stage.must((await messagesSoFar(again)).length === 0, `${c.name} delivered more than ${STORED} messages`)
}

async function oneOrder(stage: Stage): Promise<void> {
  const topic = await stage.newTopic()
  const readers = await Promise.all(
    stage.nodes.map(async (node) => {
      const { client } = await stage.connect(node, { clientId: stage.unique('scene-reader') })
      await client.subscribe(topic, 1)
      return client
    }),
  )
  const publishers = [await stage.connectPublisher(stage.node(0)), await stage.connectPublisher(stage.node(1))]
  const reading = Promise.all(readers.map((reader) => readMessages(reader, publishers.length * FROM_EACH)))
  await Promise.all(
    publishers.map(async (publisher, from) => {
      for (let number = 0; number < FROM_EACH; number += 1) await publishFully(publisher, topic, `${from} ${number}`)
    }),
  )
  const read = await reading
  const orders = read.map((messages) =>
    messages.map((message) => `${message.payload.toString()} ${eventIdOf(message)}`),
  )
  for (const order of orders) stage.must(order.join() === orders[0]?.join(), 'the nodes have two orders or two ids')
  for (const from of publishers.keys()) {
    const own = orders[0]?.filter((one) => one.startsWith(`${from} `)).map((one) => Number(one.split(' ')[1])) ?? []
    stage.must(
      own.every((number, index) => number === index),
      `the messages of one publisher came as ${own.join()}`,
    )
  }
}

async function sharedEvenly(stage: Stage): Promise<void> {
  const topic = await stage.newTopic()
  const topicFilter = `$share/${stage.unique('scene-group')}/${topic}`
  const members = await Promise.all(
    stage.nodes.map(async (node) => {
      const { client } = await stage.connect(node, { clientId: stage.unique('scene-member') })
      await client.subscribe(topicFilter, 1)
      return client
    }),
  )
  const publishers = await Promise.all(stage.nodes.map((node) => stage.connectPublisher(node)))
  for (let number = 0; number < GROUP_MESSAGES; number += 1) {
    const publisher = publishers[number % publishers.length]
    if (publisher !== undefined) await publishFully(publisher, topic, String(number))
  }
  const counts = members.map(() => 0)
  const seen = new Map<string, number>()
  const deadline = performance.now() + 10_000
  while (seen.size < GROUP_MESSAGES && performance.now() < deadline) {
    for (const [index, member] of members.entries()) {
      for (const { payload } of await messagesSoFar(member)) {
        counts[index] = (counts[index] ?? 0) + 1
        seen.set(payload.toString(), (seen.get(payload.toString()) ?? 0) + 1)
      }
    }
  }
  stage.must(seen.size === GROUP_MESSAGES, `the group got ${seen.size} of ${GROUP_MESSAGES} messages`)
  stage.must(
    [...seen.values()].every((times) => times === 1),
    'the group got messages twice',
  )
  const least = Math.min(...counts) / GROUP_MESSAGES
  stage.bar('share of the messages that the busiest member took', Math.max(...counts) / GROUP_MESSAGES, 1, 'of all')
  stage.must(least > 0.02, `a member got only ${(100 * least).toFixed(1)} % of the messages`)
}
