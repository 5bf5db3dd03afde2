import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { EXPIRY_TOPIC_NAME } from '../../broker/delivery/expiry-notice.ts'
import { MISSED_TOPIC_NAME } from '../../broker/delivery/missed-notice.ts'
import { applicationEventsTopic, commandTopic, deviceEventsTopic, EVENT_KINDS, eventTopic } from '../topics.ts'
import { asyncApiDocument } from './asyncapi.ts'
import { CONTRACTS } from './contracts.ts'
import { schemaDocument } from './schema-documents.ts'
import { REASON_CODE_USES } from './reason-code-list.ts'

const DEV_EUI = '0102030405060708'

interface Document {
  readonly channels: Readonly<Record<string, { readonly address: string; readonly messages: object }>>
  readonly operations: Readonly<Record<string, { readonly channel: { readonly $ref: string } }>>
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: { readonly $ref: string } }>>
    readonly schemas: Readonly<Record<string, { readonly properties?: object }>>
  }
}

const ADDRESSES = {
  baseUrl: 'https://fieldgate.example.org:8443',
  mqtts: { host: 'fieldgate.example.org', port: 8883 },
}
// As it is written: a value that JSON doesn't know would be left out.
const document = JSON.parse(JSON.stringify(asyncApiDocument(ADDRESSES))) as Document

describe('the AsyncAPI document', () => {
  it('refers to nothing that it does not have', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
    assert.ok(references.length > 100)
    for (const path of new Set(references)) {
      let at: unknown = document
      for (const name of path.split('/')) at = (at as Record<string, unknown> | undefined)?.[name]
      assert.ok(at !== undefined, path)
    }
  })

  it('has every topic of an integrator', () => {
    const made = (address: string): string =>
      address
        .replace('{applicationId}', '5')
        .replace('{devEui}', DEV_EUI)
        .replace('{group}', 'g')
        .replace('{from}', '37-1')
    const addresses = new Set(Object.values(document.channels).map(({ address }) => made(address)))
    const all = applicationEventsTopic('5')
    const kinds = [...EVENT_KINDS, 'log', 'integration', 'state'] as const
    const ofDevice = [deviceEventsTopic('5', DEV_EUI), commandTopic('5', DEV_EUI)]
    const ofKinds = kinds.map((kind) => eventTopic('5', DEV_EUI, kind))
    const topics = [
      all,
      `$share/g/${all}`,
      `$replay/37-1/${all}`,
      'application/+/device/+/event/+',
      ...ofDevice,
      ...ofKinds,
      `application/5/device/${DEV_EUI}/event/response`,
      MISSED_TOPIC_NAME,
      EXPIRY_TOPIC_NAME,
    ]
    assert.deepEqual([...addresses].toSorted(), topics.toSorted())
  })

  it('has an operation for each channel, and each message in one', () => {
    const used = new Set(Object.values(document.operations).map(({ channel }) => channel.$ref))
    const answers = new Set(['#/channels/commandAnswer'])
    const channels = new Set(Object.keys(document.channels).map((name) => `#/channels/${name}`))
    assert.deepEqual(channels.difference(answers), used)
    const inChannels = Object.values(document.channels).flatMap(({ messages }) => Object.keys(messages))
    assert.deepEqual(new Set(inChannels), new Set(Object.keys(document.components.messages)))
  })

  it('has the schemas of the contracts, and a message for each but the union of all events', () => {
    const messages = CONTRACTS.filter(({ path }) => path !== 'events/event')
    assert.deepEqual(
      Object.keys(document.components.messages).toSorted(),
      messages.map(({ schema }) => schema.title ?? '').toSorted(),
    )
    for (const contract of CONTRACTS) {
      const { title, properties } = schemaDocument(contract, '') as { title: string; properties?: object }
      const inPlace = JSON.stringify(properties)?.replaceAll('#/$defs/', '#/components/schemas/')
      assert.equal(JSON.stringify(document.components.schemas[title]?.properties), inPlace, title)
    }
  })

  it('has the Reason Codes of the page on MQTT', () => {
    const page = readFileSync(new URL('../../../docs/mqtt.md', import.meta.url), 'utf8')
    const rows = page.matchAll(/^\| (0x[0-9A-F]{2}) \| ([^|]+) \| ([A-Z, ]+) \|/gm)
    const told = [...rows].map(([, code, name, packets = '']) => ({ code, name, packets: packets.split(', ') }))
    assert.ok(told.length > 20)
    assert.deepEqual(REASON_CODE_USES, told)
  })
})
