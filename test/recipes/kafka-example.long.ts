/** The example of the Python SDK that writes to Kafka, with a real Apache Kafka. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { root } from '../../scripts/setup.mjs'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { Administration } from '../support/administration.ts'
import { freePort } from '../support/free-port.ts'
import { textIn } from '../support/https-client.ts'
import { outputOf, Program } from '../support/program.ts'
import { Kafka } from './kafka-server.ts'

const SDK = join(root, 'sdk', 'python')
const HOME = { HOME: process.env['HOME'] ?? '/' }
const found = Kafka.find()

/** Runs the example, which dies in the transaction of the uplink with the frame counter DIES_AT. */
const START = `
import logging, os, runpy, signal, sys
from aiokafka import AIOKafkaProducer
logging.basicConfig(level='INFO'); logging.getLogger('fieldgate').setLevel('DEBUG')
send, commit = AIOKafkaProducer.send, AIOKafkaProducer.commit_transaction
dies = False
async def noting(producer, topic, value, **more):
    global dies
    dies = f'"fCnt": {os.environ.get("DIES_AT")},' in value.decode()
    return await (await send(producer, topic, value, **more))
async def dying(producer):
    if dies: os.kill(os.getpid(), signal.SIGKILL)
    return await commit(producer)
AIOKafkaProducer.send, AIOKafkaProducer.commit_transaction = noting, dying
runpy.run_path(sys.argv[1], run_name='__main__')
`

describe('the example that writes to Kafka', { skip: found instanceof Kafka ? false : found }, () => {
  let folder: string
  let world: World
  let kafka: Kafka
  let server: Program
  let port: number
  let python: string
  let key: string

  before(async () => {
    assert.ok(found instanceof Kafka)
    kafka = found
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-kafka-example-'))
    python = (
      await outputOf('python3', [join(SDK, 'tests', 'environment.py')], { environment: HOME, ms: 300_000 })
    ).trim()
    world = await startWorld()
    const apiKey = { name: 'kafka', rights: ['events.read'], applicationIds: [world.applicationId] }
    const path = `/api/organizations/${world.organizationId}/api-keys`
    key = textIn(await new Administration(world.service).must('POST', path, { apiKey }), 'key')
    port = await freePort()
    server = await kafka.start(folder, port)
  })

  after(async () => {
    await server?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  function startExample(more: Readonly<Record<string, string>> = {}): Program {
    const { service } = world
    return new Program(python, ['-u', '-c', START, join(root, 'examples', 'sdk', 'python', 'to_kafka.py')], {
      environment: {
        ...HOME,
        PYTHONPATH: join(SDK, 'src'),
        FIELDGATE_URL: service.https,
        FIELDGATE_CA: service.caFile,
        FIELDGATE_API_KEY: key,
        XDG_STATE_HOME: folder,
        KAFKA_SERVERS: `127.0.0.1:${port}`,
        ...more,
      },
    })
  }

  /** Frame counters of the records that a reader with the isolation sees. */
  async function countersOf(isolation: string, count: number): Promise<readonly number[]> {
    const reader = ['org.apache.kafka.tools.consumer.ConsoleConsumer', '--bootstrap-server', `127.0.0.1:${port}`]
    const what = ['--topic', 'lorawan-events', '--from-beginning', '--isolation-level', isolation]
    const text = await kafka.run(...reader, ...what, '--max-messages', String(count), '--timeout-ms', '60000')
    return [...text.matchAll(/"fCnt": (\d+)/g)].map(([, fCnt]) => Number(fCnt))
  }

  test('writes each event once, also where it is killed between the record and its place', async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    {
      await using first = startExample({ DIES_AT: '3' })
      await first.complaint(/connection\.opened/, 60_000)
      for (const fCnt of [1, 2, 3]) await world.publish(device, 'up', climateUplink(fCnt))
      assert.equal((await first.ended()).signal, 'SIGKILL', first.stderr)
    }
    await world.publish(device, 'up', climateUplink(4))
    await using second = startExample()
    await second.complaint(/(?:[^]*event\.handled){2}/, 60_000)
    assert.deepEqual(await countersOf('read_committed', 4), [1, 2, 3, 4])
    // The killed program's record is in the log, and no reader of committed records sees it.
    assert.deepEqual(await countersOf('read_uncommitted', 5), [1, 2, 3, 3, 4])
  })
})
