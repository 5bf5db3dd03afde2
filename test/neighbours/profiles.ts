/** The ways in which one organization can be bad to the others, each with its own rights alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { generate } from 'mqtt-packet'
import type { Packet } from 'mqtt-packet'
import { HALF_A_HELLO, SilentConnections } from '../support/silent-connections.ts'
import { RawClient, commandTopic, each, eventTopic } from './bad-neighbour.ts'
import type { Context, Profile } from './bad-neighbour.ts'

const MIB = 1_048_576
const FOR_EVER = 2_147_483_647
/** Some broker packet limit less than 1 MiB, for a topic and its properties. */
const BIG_BYTES = 1_000_000

/** A script that takes a while to load: tables, like those of the vendors. */
function heavyScript(application: number): string {
  const table = Array.from({ length: 300 }, (_, index) => `${index}: "unit ${index} of ${application}"`).join(',')
  return `var units = {${table}}; function decodeUplink(input) { return { data: { unit: units[input.bytes[0]] } } }`
}

async function publisher(context: Context): Promise<RawClient> {
  const client = new RawClient(context)
  await client.connect(context.networkServer)
  return client
}

function publish(topic: string, payload: Buffer | string, fields: Record<string, unknown> = {}): Packet {
  return { cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false, ...fields }
}

async function request(context: Context, method: string, path: string, json?: unknown): Promise<void> {
  try {
    await context.http.ask(method, path, { token: context.session, ...(json === undefined ? {} : { json }) })
  } catch {
    // A refusal is the point.
  }
}

export const PROFILES: readonly Profile[] = [
  {
    name: 'retained',
    title: 'retained events of 1 MB on 1,000 topics of its own',
    devices: 500,
    attack: (context) =>
      each(2, async (index) => {
        const client = await publisher(context)
        const payload = Buffer.alloc(BIG_BYTES, 120)
        for (let n = index; !client.isClosed; n += 2) {
          const topic = eventTopic(context, Math.floor(n / 2), n % 2 === 0 ? 'up' : 'status')
          await client.write([publish(topic, payload, { qos: 1, retain: true, messageId: (n % 65_535) + 1 })])
          await client.received(4)
        }
      }),
  },
  {
    name: 'sessions',
    title: '300 Sessions with 1,000 subscriptions of 1 KB each, made again without end',
    attack: async (context) => {
      let serial = 0
      await each(8, async () => {
        const client = new RawClient(context)
        serial += 1
        await client.connect(
          { username: context.token, password: 'default' },
          { clientId: `kept-${serial % 300}`, properties: { sessionExpiryInterval: 604_800 } },
        )
        for (let block = 0; block < 20 && !client.isClosed; block += 1) {
          const subscriptions = Array.from({ length: 50 }, (_, index) => ({
            topic: `application/${context.applicationIds[0] ?? ''}/device/+/event/${`${serial}-${block}-${index}-`.padEnd(950, 'x')}`,
            qos: 1 as const,
          }))
          await client.write([{ cmd: 'subscribe', messageId: block + 1, subscriptions }])
          await client.received(50)
        }
        client.socket.destroy()
      })
    },
  },
  {
    name: 'flood',
    title: 'QoS 0 flat out, 60 bytes, four connections',
    attack: (context) =>
      each(4, async (index) => {
        const client = await publisher(context)
        const one = generate(publish(eventTopic(context, index), 'x'.repeat(60)), { protocolVersion: 5 })
        const many = Buffer.concat(Array.from({ length: 1_000 }, () => one))
        while (!client.isClosed) await client.write(many)
      }),
  },
  {
    name: 'flood-qos1',
    title: 'QoS 1 flat out, 200 bytes, four connections',
    attack: (context) =>
      each(4, async (index) => {
        const client = await publisher(context)
        for (let messageId = 1; !client.isClosed;) {
          const packets = Array.from({ length: 200 }, () => {
            messageId = (messageId % 65_535) + 1
            return publish(eventTopic(context, index), 'x'.repeat(200), { qos: 1, messageId })
          })
          const acknowledged = client.received(200 * 4)
          await client.write(packets)
          await acknowledged
        }
      }),
  },
  {
    name: 'scripts',
    title: '40 applications with a script each, in turn',
    applications: 40,
    devices: 1,
    script: heavyScript,
    attack: async (context) => {
      const client = await publisher(context)
      for (let n = 0; !client.isClosed; n += 1) {
        const payload = JSON.stringify({ fPort: 1, data: Buffer.from([n % 256]).toString('base64') })
        await client.write([publish(eventTopic(context, n), payload)])
        if (n % 10 === 9) await sleep(50)
      }
    },
  },
  {
    name: 'codec-bombs',
    title: 'scripts that never end, and scripts that take all memory',
    applications: 8,
    devices: 2,
    script: (application) =>
      application % 2 === 0
        ? 'function decodeUplink() { for (;;) {} }'
        : 'function decodeUplink() { var all = []; for (;;) all.push(new Array(1000).fill(1)) }',
    attack: async (context) => {
      const client = await publisher(context)
      for (let n = 0; !client.isClosed; n += 1) {
        await client.write([publish(eventTopic(context, n), JSON.stringify({ fPort: 1, data: 'AQ==' }))])
        await sleep(5)
      }
    },
  },
  {
    name: 'handshakes',
    title: '20,000 TLS connections to the HTTPS port that never finish the handshake',
    attack: async (context) => {
      const port = Number(new URL(context.https).port)
      for (let n = 0; ; n += 1) {
        await SilentConnections.open({
          port,
          count: 1_000,
          address: `127.0.3.${1 + (n % 20)}`,
          firstBytes: HALF_A_HELLO,
        })
        await sleep(2_000)
      }
    },
  },
  {
    name: 'behind-refusal',
    title: 'four connections that go on sending after their CONNECT was refused',
    attack: (context) =>
      each(4, async () => {
        const client = new RawClient(context, { reads: false })
        await client.connect({ username: 'nobody', password: 'nothing' })
        const chunk = Buffer.alloc(262_144)
        while (!client.isClosed) await client.write(chunk)
      }),
  },
  {
    name: 'commands',
    title: 'commands flat out, by MQTT and HTTP',
    devices: 100,
    attack: async (context) => {
      const payload = JSON.stringify({ confirmed: false, fPort: 10, data: 'AQID' })
      const byMqtt = each(2, async () => {
        const client = new RawClient(context)
        await client.connect({ username: context.token, password: 'default' })
        for (let messageId = 1; !client.isClosed;) {
          const packets = Array.from({ length: 100 }, (_, index) => {
            messageId = (messageId % 65_535) + 1
            return publish(commandTopic(context, index), payload, { qos: 1, messageId })
          })
          const acknowledged = client.received(100 * 4)
          await client.write(packets)
          await acknowledged
        }
      })
      const byHttp = each(4, async (index) => {
        const { devEui } = context.devices[index % context.devices.length] as Context['devices'][number]
        const deviceQueueItem = { devEUI: devEui, confirmed: false, fPort: 10, data: 'AQID' }
        await request(context, 'POST', `/api/devices/${devEui}/queue`, { deviceQueueItem })
      })
      await Promise.all([byMqtt, byHttp])
    },
  },
  {
    name: 'connect-storm',
    title: 'clients that connect with a token and leave, without end',
    attack: (context) =>
      each(16, async () => {
        const client = new RawClient(context)
        await client.connect({ username: context.token, password: 'default' })
        await client.received(4)
        client.socket.destroy()
      }),
  },
  {
    name: 'subscribe-storm',
    title: 'subscriptions made and ended without end',
    attack: (context) =>
      each(4, async (index) => {
        const client = new RawClient(context)
        await client.connect({ username: context.token, password: 'default' })
        for (let n = 0; !client.isClosed; n += 1) {
          const topics = Array.from(
            { length: 100 },
            (_, one) => `application/${context.applicationIds[0] ?? ''}/device/+/event/${index}-${n % 7}-${one}`,
          )
          const subscriptions = topics.map((topic) => ({ topic, qos: 1 as const }))
          const answered = client.received(200)
          await client.write([
            { cmd: 'subscribe', messageId: 1, subscriptions },
            { cmd: 'unsubscribe', messageId: 2, unsubscriptions: topics },
          ])
          await answered
        }
      }),
  },
  {
    name: 'slow-readers',
    title: '50 subscribers that never read, beside 400 events of 10 KB a second',
    devices: 10,
    attack: async (context) => {
      const readers = each(50, async () => {
        const client = new RawClient(context, { reads: false })
        await client.connect({ username: context.token, password: 'default' })
        const subscriptions = [{ topic: `application/${context.applicationIds[0] ?? ''}/#`, qos: 1 as const }]
        await client.write([{ cmd: 'subscribe', messageId: 1, subscriptions }])
        while (!client.isClosed) await sleep(100)
      })
      const events = each(1, async () => {
        const client = await publisher(context)
        for (let n = 0; !client.isClosed; n += 1) {
          const fields = { qos: 1, messageId: (n % 65_535) + 1 }
          await client.write([publish(eventTopic(context, n), Buffer.alloc(10_000, 120), fields)])
          if (n % 4 === 3) await sleep(10)
        }
      })
      await Promise.all([readers, events])
    },
  },
  {
    name: 'topics',
    title: 'events on a million topics',
    devices: 200,
    attack: (context) =>
      each(2, async (index) => {
        const client = await publisher(context)
        for (let n = index; !client.isClosed; n += 2) {
          const packets = Array.from({ length: 100 }, (_, one) => {
            const alias = { qos: 1, messageId: one + 1 + (n % 600) * 100 }
            return publish(eventTopic(context, one, `kind-${(n * 100 + one) % 5_000}`), 'x', alias)
          })
          const acknowledged = client.received(400)
          await client.write(packets)
          await acknowledged
        }
      }),
  },
  {
    name: 'will-messages',
    title: 'Will Messages of 60 KB by connections that break without end',
    devices: 10,
    attack: (context) =>
      each(16, async (index) => {
        const client = new RawClient(context)
        const will = { topic: eventTopic(context, index), payload: Buffer.alloc(60_000, 120), qos: 1, retain: true }
        await client.connect(context.networkServer, { will })
        await client.received(4)
        client.socket.destroy()
      }),
  },
  {
    name: 'replay',
    title: 'all stored events again and again, by MQTT and HTTP',
    devices: 10,
    attack: async (context) => {
      const before = await publisher(context)
      for (let n = 0; n < 20_000 && !before.isClosed; n += 1) {
        const fields = { qos: 1, messageId: (n % 65_535) + 1 }
        await before.write([publish(eventTopic(context, n), Buffer.alloc(1_000, 120), fields)])
      }
      const byMqtt = each(4, async () => {
        const client = new RawClient(context)
        await client.connect({ username: context.token, password: 'default' })
        const properties = { userProperties: { 'replay-from': '2020-01-01T00:00:00Z' } }
        const subscriptions = [{ topic: `application/${context.applicationIds[0] ?? ''}/#`, qos: 1 as const }]
        await client.write([{ cmd: 'subscribe', messageId: 1, subscriptions, properties }])
        await client.received(20 * MIB, 3_000)
        client.socket.destroy()
      })
      const byHttp = each(2, async () => {
        await request(context, 'GET', `/api/applications/${context.applicationIds[0] ?? ''}/events?limit=10000`)
      })
      await Promise.all([byMqtt, byHttp])
    },
  },
  {
    name: 'http',
    title: 'HTTP requests flat out, wrong passwords among them',
    devices: 100,
    attack: async (context) => {
      const asking = each(16, () => request(context, 'GET', '/api/devices?limit=1000&search=a0b1'))
      const guessing = each(4, () =>
        request(context, 'POST', '/api/internal/login', { username: 'nobody', password: 'wrong password' }),
      )
      await Promise.all([asking, guessing])
    },
  },
  {
    name: 'imports',
    title: 'imports of 20,000 devices that are removed again, without end',
    attack: (context) =>
      each(2, async (index) => {
        const rows = Array.from(
          { length: 20_000 },
          (_, row) => `${(BigInt(index + 1) * 0x100000000n + BigInt(row)).toString(16).padStart(16, 'b')},meter ${row}`,
        )
        const path = `/api/devices/import?applicationID=${context.applicationIds[0] ?? ''}`
        try {
          await context.http.ask('POST', path, {
            token: context.session,
            headers: { 'content-type': 'text/csv' },
            bytes: `devEui,name\n${rows.join('\n')}\n`,
          })
        } catch {
          // A refusal is the point.
        }
      }),
  },
]

/** Keeps a process without work alive until it is killed. */
export async function rest(): Promise<void> {
  await sleep(FOR_EVER)
}
