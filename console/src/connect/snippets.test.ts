import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { CA_FILE } from './snippet.ts'
import type { SnippetFacts } from './snippet.ts'
import { snippetsFor } from './snippets.ts'

const FACTS: SnippetFacts = {
  host: 'mqtt.example.org',
  port: 8883,
  origin: 'https://mqtt.example.org',
  token: 'eyJ.a-token.of-it',
  organizationId: '1',
  eventTopic: 'application/1/device/00005eef10000001/event/+',
  commandTopic: 'application/1/device/00005eef10000001/command/down',
  authority: '-----BEGIN CERTIFICATE-----',
  clientId: 'integration-one',
}
const OF_AN_APPLICATION: SnippetFacts = {
  ...FACTS,
  eventTopic: 'application/1/device/+/event/+',
  commandTopic: undefined,
  authority: undefined,
}

function textsOf(id: string, facts: SnippetFacts): readonly string[] {
  return snippetsFor(facts)
    .filter((snippet) => snippet.id === id)
    .flatMap(({ blocks }) => blocks.map(({ text }) => text))
}

/** A node of Node-RED in the form that its Import takes. */
type FlowNode = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly type: string
  readonly wires?: readonly (readonly string[])[]
}

function flowOf(facts: SnippetFacts): ReadonlyMap<string, FlowNode> {
  const nodes = JSON.parse(textsOf('node-red', facts).join('')) as readonly FlowNode[]
  return new Map(nodes.map((node) => [node.type, node]))
}

for (const [title, facts] of [
  ['a device', FACTS],
  ['an application', OF_AN_APPLICATION],
] as const) {
  test(`the flow for Node-RED of ${title} hangs together: a node without a flow or a wire to nowhere never starts`, () => {
    const flow = flowOf(facts)
    const ids = new Set([...flow.values()].map(({ id }) => id))
    assert.equal(ids.size, flow.size)
    const tab = flow.get('tab')
    for (const node of flow.values()) {
      if (!('wires' in node)) continue
      assert.equal(node['z'], tab?.id, node.type)
      assert.deepEqual([typeof node['x'], typeof node['y']], ['number', 'number'], node.type)
      for (const target of node.wires?.flat() ?? []) assert.ok(ids.has(target), `${node.type} leads to ${target}`)
    }
    const events = flow.get('mqtt in')
    assert.deepEqual(
      [events?.['topic'], events?.['qos'], events?.['datatype'], events?.['broker'], events?.wires],
      [facts.eventTopic, '1', 'json', flow.get('mqtt-broker')?.id, [[flow.get('debug')?.id]]],
    )
    assert.equal(flow.get('mqtt-broker')?.['tls'], flow.get('tls-config')?.id)
    assert.equal(flow.has('mqtt out'), facts.commandTopic !== undefined)
  })
}

test('the flow for Node-RED has what its nodes refuse to be without', () => {
  const flow = flowOf(FACTS)
  const broker = flow.get('mqtt-broker')
  assert.deepEqual(
    [broker?.['broker'], broker?.['port'], broker?.['usetls'], broker?.['protocolVersion'], broker?.['clientid']],
    ['mqtt.example.org', '8883', true, '5', 'integration-one'],
  )
  assert.deepEqual(broker?.['credentials'], { user: FACTS.token, password: 'default' })
  const authority = flow.get('tls-config')
  assert.deepEqual([authority?.['verifyservercert'], authority?.['caname']], [true, CA_FILE])
  assert.deepEqual(authority?.['credentials'], { cadata: FACTS.authority })
  const command = flow.get('inject')
  assert.deepEqual(
    [command?.['props'], command?.['payloadType'], command?.['repeat'], command?.['once'], command?.['onceDelay']],
    [[{ p: 'payload' }], 'json', '', false, 0.1],
  )
  assert.deepEqual(JSON.parse(String(command?.['payload'])), { confirmed: false, fPort: 10, data: 'AQID' })
  assert.deepEqual(command?.wires, [[flow.get('mqtt out')?.id]])
})

test('two tokens’ flows for Node-RED can stand beside each other', () => {
  const second = flowOf({ ...FACTS, clientId: 'integration-two' })
  const taken = new Set([...flowOf(FACTS).values()].map(({ id }) => id))
  for (const { id } of second.values()) assert.ok(!taken.has(id), id)
})

/** The words of a line that a shell hands to the program. */
function wordsOf(line: string): readonly string[] {
  return execFileSync('sh', ['-c', `mqttx() { printf '%s\\0' "$@"; }\n${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)
}

test('the lines for MQTTX have its options, each with one word', () => {
  const [watch = '', send = ''] = textsOf('mqttx', FACTS)
  const broker = ['-h', 'mqtt.example.org', '-p', '8883', '-l', 'mqtts', '--ca', CA_FILE, '-V', '5']
  const access = ['-u', FACTS.token, '-P', 'default']
  const watching = ['-i', 'integration-one', '-q', '1', '-t', FACTS.eventTopic]
  assert.deepEqual(wordsOf(watch), ['sub', ...broker, ...access, ...watching])
  const sending = ['-i', 'integration-one-sender', '-q', '1', '-t', FACTS.commandTopic, '-m']
  const words = wordsOf(send)
  assert.deepEqual(words.slice(0, -1), ['pub', ...broker, ...access, ...sending])
  assert.deepEqual(JSON.parse(words.at(-1) ?? ''), { confirmed: false, fPort: 10, data: 'AQID' })
  const [all = '', ...none] = textsOf('mqttx', OF_AN_APPLICATION)
  assert.ok(!wordsOf(all).includes('--ca'))
  assert.deepEqual(none, [])
})

test('the bridge for Home Assistant keeps its Session: mosquitto asks for none by MQTT 5', () => {
  const [bridge = ''] = textsOf('home-assistant', FACTS)
  assert.match(bridge, /^bridge_protocol_version mqttv311$/m)
  assert.match(bridge, /^cleansession false$/m)
})

test('a program that gets new tokens by itself asks for the limits of its first token again', () => {
  const facts = { ...FACTS, scope: { devEuis: ['00005eef10000001'], eventKinds: ['up', 'join'], isReadOnly: true } }
  for (const [id, wish] of [
    [
      'mqtt-js',
      `{ organizationId: '1', ttlInSeconds: '86400', devEuis: ["00005eef10000001"], eventKinds: ["up","join"], isReadOnly: true }`,
    ],
    [
      'python',
      '{"organizationId": "1", "ttlInSeconds": "86400", "devEuis": ["00005eef10000001"], "eventKinds": ["up","join"], "isReadOnly": True}',
    ],
    [
      'go',
      'map[string]any{"organizationId": "1", "ttlInSeconds": "86400", "devEuis": []string{"00005eef10000001"}, "eventKinds": []string{"up","join"}, "isReadOnly": true}',
    ],
  ] as const) {
    assert.ok(
      textsOf(id, facts).join('').includes(`wish = ${wish}`) || textsOf(id, facts).join('').includes(`wish := ${wish}`),
      id,
    )
  }
})
