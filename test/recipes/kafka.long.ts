/**
 * The recipe of docs/how-to/kafka.md with a real Redpanda Connect and a real Apache Kafka.
 * `FIELDGATE_TEST_REDPANDA_CONNECT` names the program.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { documentedBlock } from '../support/documented.ts'
import { freePort } from '../support/free-port.ts'
import { Program } from '../support/program.ts'
import { Kafka } from './kafka-server.ts'
import { absenceOf, writeWithToken } from './recipe-world.ts'

const found = Kafka.find()
const missing =
  absenceOf('FIELDGATE_TEST_REDPANDA_CONNECT', '--version') ?? (found instanceof Kafka ? undefined : found)

describe('Redpanda Connect with the configuration of the page', { skip: missing ?? false }, () => {
  let folder: string
  let world: World
  let kafka: Kafka
  let server: Program
  let port: number

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-kafka-'))
    world = await startWorld()
    port = await freePort()
    assert.ok(found instanceof Kafka)
    kafka = found
    server = await kafka.start(folder, port)
    await writeConfiguration()
  })

  after(async () => {
    await server?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('writes each event with the DevEUI as its key, in order, also those of its absence', async () => {
    const [, device, other] = world.devices
    assert.ok(device !== undefined && other !== undefined)
    {
      await using connect = startConnect()
      await connect.output(/Input type mqtt is now active/)
      for (const fCnt of [1, 2]) await world.publish(device, 'up', climateUplink(fCnt))
      await world.publish(other, 'join', { devAddr: '01020304' })
      // The file changes under the running program, as `renew-token` changes it.
      await recordsAre([`${device.devEui} up 1`, `${device.devEui} up 2`, `${other.devEui} join undefined`])
      await writeConfiguration()
      await connect.output(/(?:[^]*Input type mqtt is now active){2}/)
      await world.publish(device, 'up', climateUplink(3))
      await recordsAre([
        ...[1, 2].map((fCnt) => `${device.devEui} up ${fCnt}`),
        `${other.devEui} join undefined`,
        `${device.devEui} up 3`,
      ])
    }
    await world.publish(device, 'up', climateUplink(4))
    await using connect = startConnect()
    await connect.output(/Input type mqtt is now active/)
    await recordsAre([
      ...[1, 2].map((fCnt) => `${device.devEui} up ${fCnt}`),
      `${other.devEui} join undefined`,
      ...[3, 4].map((fCnt) => `${device.devEui} up ${fCnt}`),
    ])
  })

  async function writeConfiguration(): Promise<void> {
    const { service, applicationId } = world
    const template = await documentedBlock('kafka.md', 'connect', {
      'fieldgate.example.org:8883': `localhost:${service.mqttsPort}`,
      APPLICATION: applicationId,
      '/etc/redpanda-connect/fieldgate-ca.pem': service.caFile,
      '127.0.0.1:9092': `127.0.0.1:${port}`,
    })
    await writeWithToken(world, template, join(folder, 'kafka.yaml'))
  }

  function startConnect(): Program {
    const program = process.env['FIELDGATE_TEST_REDPANDA_CONNECT'] ?? ''
    return new Program(program, ['run', '--watcher', join(folder, 'kafka.yaml')], { environment: { HOME: folder } })
  }

  /** Reads so many records, and compares each by its key, its kind and its frame counter. */
  async function recordsAre(wanted: readonly string[]): Promise<void> {
    const reader = ['org.apache.kafka.tools.consumer.ConsoleConsumer', '--bootstrap-server', `127.0.0.1:${port}`]
    const what = ['--topic', 'lorawan-events', '--from-beginning', '--max-messages', String(wanted.length)]
    const printed = ['--timeout-ms', '20000', '--property', 'print.key=true', '--property', 'print.headers=true']
    const text = await kafka.run(...reader, ...what, ...printed)
    const records = text.split('\n').flatMap((line) => {
      const [, headers = '', key = '', body = '{}'] = /^(\S*kind:\S*)\t([0-9a-f]{16})\t(\{.*\})$/.exec(line) ?? []
      const kind = /kind:(\w+)/.exec(headers)?.[1]
      if (kind === undefined) return []
      const { fCnt } = JSON.parse(body) as { readonly fCnt?: number }
      return [`${key} ${kind} ${fCnt}`]
    })
    assert.deepEqual(records, wanted, text)
  }
})
