import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { readNetworkServers } from './settings.ts'
import type { NetworkServerEntry } from './settings.ts'

const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const FILES: Readonly<Record<string, string>> = {
  '/run/password': 'from a file\n',
  '/etc/ca.pem': '-----BEGIN CERTIFICATE-----\nCA',
  '/etc/cert.pem': '-----BEGIN CERTIFICATE-----\nours',
  '/etc/key.pem': '-----BEGIN PRIVATE KEY-----\nours',
  '/etc/hosts': 'no PEM',
}

function readFile(path: string): string {
  const text = FILES[path]
  if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return text
}

const BRIDGE = {
  name: 'valley',
  kind: 'mqtt-bridge',
  url: 'mqtts://broker.example.org',
  clientId: 'fieldgate',
}
const GRPC = { name: 'main', kind: 'chirpstack-grpc', url: 'https://chirpstack.example.org:8080', apiKey: 'key' }
const HTTP = {
  name: 'rest',
  kind: 'chirpstack-http',
  url: 'http://rest.example.org:8090',
  apiKey: 'key',
  version: 'v4',
  organizationId: '1',
}
const THINGS = {
  name: 'things',
  kind: 'the-things-stack',
  url: 'https://eu1.cloud.thethings.network',
  apiKey: 'key',
  organizationId: '1',
  applicationId: 'app1',
  webhookId: 'fieldgate',
}

/** The text of every file that the settings name. */
function anyFile(path: string): string {
  return path.endsWith('.pem') ? '-----BEGIN CERTIFICATE-----' : 'secret'
}

function entryOf(element: object): NetworkServerEntry {
  const result = readNetworkServers(JSON.stringify({ networkServers: [element] }), readFile)
  assert.ok(result.ok, JSON.stringify(result))
  const [entry] = result.entries
  assert.ok(entry !== undefined)
  return entry
}

function faultsOf(...elements: unknown[]): readonly string[] {
  const result = readNetworkServers(JSON.stringify({ networkServers: elements }), readFile)
  assert.ok(!result.ok)
  return result.faults
}

describe('the file of network servers', () => {
  it('has a bridge with the defaults', () => {
    const entry = entryOf(BRIDGE)
    assert.ok(entry.kind === 'mqtt-bridge')
    const { address, bridge, organizationId } = entry
    assert.deepEqual(
      [address.host, address.port, address.tls, organizationId],
      ['broker.example.org', 8883, { ca: undefined, cert: undefined, key: undefined }, undefined],
    )
    assert.deepEqual([bridge.protocolVersion, bridge.sessionExpirySeconds, bridge.takesCommands], [5, 604_800, true])
    assert.equal(bridge.eventTopic.topicFilter, 'application/+/device/+/event/+')
  })

  it('has a bridge with everything', () => {
    const entry = entryOf({
      ...BRIDGE,
      organizationId: '3',
      url: 'mqtts://[::1]:9999/',
      mqttVersion: '3.1.1',
      userName: 'fieldgate',
      password: { file: '/run/password' },
      sessionExpirySeconds: 86_400,
      caFile: '/etc/ca.pem',
      certFile: '/etc/cert.pem',
      keyFile: '/etc/key.pem',
      eventTopic: 'x/{{application_id}}/{{dev_eui}}/{{event}}',
      commandTopic: 'y/{{application_id}}/{{dev_eui}}',
      commands: false,
      applications: { '5': UUID },
    })
    assert.ok(entry.kind === 'mqtt-bridge')
    const { address, bridge } = entry
    assert.deepEqual([address.host, address.port, address.tls?.key], ['::1', 9999, FILES['/etc/key.pem']])
    assert.deepEqual([bridge.protocolVersion, bridge.password, bridge.takesCommands], [4, 'from a file', false])
    assert.deepEqual(bridge.applications, new Map([['5', UUID]]))
  })

  it('has ChirpStack by gRPC and by HTTP, and The Things Stack', () => {
    const grpc = entryOf({ ...GRPC, syncSeconds: 60, caFile: '/etc/ca.pem', tenants: { [UUID]: '1' } })
    assert.ok(grpc.kind === 'chirpstack-grpc')
    assert.deepEqual(
      [grpc.address.target, grpc.address.tls, grpc.syncIntervalMs, grpc.tenants],
      ['chirpstack.example.org:8080', { ca: FILES['/etc/ca.pem'] }, 60_000, new Map([[UUID, '1']])],
    )
    const clear = entryOf({ ...GRPC, url: 'http://127.0.0.1:8080' })
    assert.ok(clear.kind === 'chirpstack-grpc' && clear.address.tls === undefined)
    const rest = entryOf(HTTP)
    assert.ok(rest.kind === 'chirpstack-http')
    assert.deepEqual(rest.target.headers, { 'grpc-metadata-authorization': 'Bearer key' })
    const things = entryOf({ ...THINGS, applications: ['5'] })
    assert.ok(things.kind === 'the-things-stack')
    assert.deepEqual([things.target.headers['authorization'], things.applications], ['Bearer key', ['5']])
  })

  const faults: readonly (readonly [string, unknown, RegExp])[] = [
    ['no object', 5, /^networkServers\[0\]: must be an object$/],
    ['no name', { ...GRPC, name: undefined }, /\.name: is missing$/],
    ['a name with a space', { ...GRPC, name: 'a b' }, /\.name: must be 1 to 40 lower-case letters/],
    ['the name of the clients of this broker', { ...GRPC, name: 'mqtt' }, /\.name: "mqtt" names/],
    ['no such kind', { ...GRPC, kind: 'x' }, /\.kind: must be one of "mqtt-bridge", "chirpstack-grpc"/],
    [
      'a member that is misspelled',
      { ...GRPC, apikey: 'x' },
      /\.apikey: is no setting of this kind; there are name, kind/,
    ],
    [
      'a URL with a password',
      { ...GRPC, url: 'https://u:p@x' },
      /\.url: must be a URL that begins with http:\/\/ or https:/,
    ],
    ['a URL of another scheme', { ...GRPC, url: 'file:///etc/passwd' }, /\.url: must be a URL/],
    ['a URL with a query', { ...HTTP, url: 'http://x/?a=b' }, /\.url: must be a URL/],
    ['no URL', { ...GRPC, url: undefined }, /\.url: is missing$/],
    ['a path for gRPC', { ...GRPC, url: 'https://x/y' }, /\.url: must have no path$/],
    ['no API key', { ...GRPC, apiKey: undefined }, /\.apiKey: is missing$/],
    ['an empty API key', { ...GRPC, apiKey: '' }, /\.apiKey: must not be empty$/],
    ['an API key with a line break', { ...GRPC, apiKey: 'a\r\nx: y' }, /\.apiKey: must have visible ASCII/],
    [
      'a secret in a file that is not there',
      { ...GRPC, apiKey: { file: '/no' } },
      /\.apiKey: the file can't be read \(ENOENT\)$/,
    ],
    ['a secret that is a number', { ...GRPC, apiKey: 5 }, /\.apiKey: must be a string, or {"file"/],
    ['a tenant that is no UUID', { ...GRPC, tenants: { x: '1' } }, /\.tenants: must be an object of tenant ids/],
    ['tenants that are a list', { ...GRPC, tenants: [UUID] }, /\.tenants: must be an object/],
    ['too short an interval', { ...GRPC, syncSeconds: 1 }, /\.syncSeconds: must be an integer from 30 to 86400, or 0$/],
    ['a CA without TLS', { ...GRPC, url: 'http://x', caFile: '/etc/ca.pem' }, /\.url: must begin with https/],
    ['a CA that is no PEM', { ...GRPC, caFile: '/etc/hosts' }, /\.caFile: the file has no PEM in it$/],
    ['a certificate without a key', { ...BRIDGE, certFile: '/etc/cert.pem' }, /\.certFile: goes with keyFile$/],
    [
      'a certificate without TLS',
      { ...BRIDGE, url: 'mqtt://x', caFile: '/etc/ca.pem' },
      /\.url: must begin with mqtts/,
    ],
    ['a password without a user', { ...BRIDGE, password: 'x' }, /\.password: goes with userName$/],
    ['no Client Identifier', { ...BRIDGE, clientId: '' }, /\.clientId: must be 1 to 64 visible ASCII characters$/],
    ['another version of MQTT', { ...BRIDGE, mqttVersion: '3.1' }, /\.mqttVersion: must be one of "5.0", "3.1.1"$/],
    ['a topic with a wildcard', { ...BRIDGE, eventTopic: 'a/#' }, /\.eventTopic: must have no wildcards/],
    [
      'a topic without a DevEUI',
      { ...BRIDGE, commandTopic: 'a/{{application_id}}' },
      /\.commandTopic: must have each of/,
    ],
    ['one of ours twice', { ...BRIDGE, applications: { '1': '7', '2': '7' } }, /\.applications: must name each of our/],
    ['a flag that is a text', { ...BRIDGE, commands: 'no' }, /\.commands: must be true or false$/],
    ['no organization', { ...HTTP, organizationId: undefined }, /\.organizationId: is missing$/],
    ['an organization that is a number', { ...HTTP, organizationId: 1 }, /\.organizationId: must be the id of/],
    ['applications that are one text', { ...HTTP, applications: '5' }, /\.applications: must be an array/],
    [
      'an id with a slash',
      { ...THINGS, applicationId: 'a/../b' },
      /\.applicationId: must be an id of The Things Stack$/,
    ],
    ['__proto__', JSON.parse('{"__proto__": {"name": "x"}}'), /\.name: is missing$/],
  ]
  for (const [what, element, fault] of faults) {
    it(`says where the fault is: ${what}`, () => {
      const found = faultsOf(element)
      assert.ok(
        found.some((sentence) => fault.test(sentence)),
        found.join('\n'),
      )
      for (const sentence of found) assert.match(sentence, /^networkServers\[0\]/)
    })
  }

  it('tells all faults at once, and no secret', () => {
    const found = faultsOf({ ...GRPC, apiKey: 'the secret\n', syncSeconds: 29 }, { ...BRIDGE, commands: 'no' }, BRIDGE)
    assert.equal(found.length, 4)
    assert.match(found[3] ?? '', /networkServers\[2\]\.name: "valley" is the name of another one already/)
    assert.doesNotMatch(found.join('\n'), /the secret/)
  })

  for (const text of ['', '{', '[]', '{}', '{"networkServers":{}}', 'null']) {
    it(`is not ${JSON.stringify(text)}`, () => {
      assert.equal(readNetworkServers(text, readFile).ok, false)
    })
  }

  const pages = new URL('../../../docs/network-servers/', import.meta.url)
  for (const page of readdirSync(pages)) {
    it(`is as docs/network-servers/${page} shows it`, () => {
      const text = readFileSync(new URL(page, pages), 'utf8')
      for (const [, block = ''] of text.matchAll(/```json\n(\{\n {2}"networkServers"[^]*?)```/g)) {
        const result = readNetworkServers(block, anyFile)
        assert.ok(result.ok, JSON.stringify(result))
      }
    })
  }

  it('names 100 at most', () => {
    const many = Array.from({ length: 101 }, (_, index) => ({ ...GRPC, name: `n${index}` }))
    assert.deepEqual(faultsOf(...many), ['networkServers: must have at most 100 elements'])
  })
})
