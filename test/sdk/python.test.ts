/**
 * The Python SDK: its own tests with a real service, its package in a fresh environment, the lines
 * of its README, and the examples.
 */
import assert from 'node:assert/strict'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestServer } from '../postgresql/test-server.ts'
import { startWorld } from '../console/world.ts'
import type { World, WorldDevice } from '../console/world.ts'
import { Administration, PASSWORD } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import { outputOf, Program, runProgram } from '../support/program.ts'
import { ADMIN_PASSWORD, makeFolder } from '../support/running-service.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SDK = join(ROOT, 'sdk', 'python')
const EXAMPLES = join(ROOT, 'examples', 'sdk', 'python')
/** The time for PyPI, once on a machine. */
const INSTALL_MS = 300_000
const SUITE_MS = 110_000
const HOME = { HOME: process.env['HOME'] ?? '/' }

test('payloads.py agrees with the contracts', async () => {
  const { code, stderr } = await runProgram(process.execPath, [join(SDK, 'generate-payloads.mjs'), '--check'])
  assert.equal(code, 0, stderr)
})

const python = await findPython()
const skip = python.missing ?? false

/** The Python that has the packages; or the sentence that says what is missing. */
async function findPython(): Promise<{ readonly path: string; readonly missing?: string }> {
  try {
    const found = await runProgram('python3', [join(SDK, 'tests', 'environment.py')], {
      environment: HOME,
      ms: INSTALL_MS,
    })
    if (found.code === 0) return { path: found.stdout.trim() }
    console.error(`SKIPPED: the tests of the Python SDK: ${found.stderr.trim()}`)
    return { path: '', missing: found.stderr.trim() }
  } catch (error) {
    console.error(`SKIPPED: the tests of the Python SDK: ${String(error)}`)
    return { path: '', missing: String(error) }
  }
}

describe('the Python SDK', { skip }, () => {
  let world: World
  let folder: string
  /** The Python of an environment in which nothing but the built package is installed. */
  let installed: string
  let environment: Readonly<Record<string, string>>

  before(async () => {
    folder = await makeFolder()
    world = await startWorld()
    const person = await new Administration(world.service, 1000).person([
      { organizationId: world.organizationId, isAdmin: true },
    ])
    installed = await installPackage(python.path, folder)
    environment = {
      ...HOME,
      PYTHONPATH: await packagesOf(python.path),
      XDG_STATE_HOME: join(folder, 'state'),
      FIELDGATE_URL: world.service.https,
      FIELDGATE_USER: person.userName,
      FIELDGATE_PASSWORD: PASSWORD,
      FIELDGATE_CA: world.service.caFile,
    }
  })

  after(async () => {
    await world[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('its own tests pass with a real service', { timeout: SUITE_MS }, async (t) => {
    const file = join(folder, 'world.json')
    await writeFacts(file)
    const { code, stderr } = await runProgram(python.path, ['-m', 'unittest', 'discover', '-s', join(SDK, 'tests')], {
      environment: { ...HOME, PYTHONPATH: join(SDK, 'src'), FIELDGATE_TEST_WORLD: file },
      ms: SUITE_MS,
    })
    assert.equal(code, 0, stderr)
    t.diagnostic(stderr.trim().split('\n').slice(-3).join(' '))
  })

  test('the first lines of the README run with the built package', async () => {
    const readme = await readFile(join(SDK, 'README.md'), 'utf8')
    const lines = /```python\n(.*?)```/s.exec(readme)?.[1] ?? ''
    assert.ok(lines.split('\n').filter((line) => line !== '').length <= 10)
    const credential = `username="${environment['FIELDGATE_USER']}", password="${PASSWORD}"`
    const program = lines
      .replace('"https://fieldgate.example.org:8443"', JSON.stringify(world.service.https))
      .replace('api_key="fg_..."', `${credential}, ca_file="${world.service.caFile}"`)
      .replace('session="meters"', 'session="meters", start="earliest"')
    await using running = new Program(installed, ['-u', '-c', program], { environment })
    await publishUplink(0, { fCnt: 1, object: { level: 41.5 } })
    await running.output(/climate-pump-house-1 \{'level': 41\.5\}/)
  })

  test('ten lines read the events of a key for one device', async () => {
    await using running = example('ten_lines.py', await keyFor(6, ['events.read']))
    await running.complaint(/connection\.opened/)
    await publishUplink(0, { fCnt: 60 })
    await publishUplink(6, { fCnt: 61 })
    await running.output(/ 61 /)
    assert.doesNotMatch(running.stdout, / 60 /)
  })

  test('ten lines send a command, and tell each step', async () => {
    const { devEui } = deviceAt(7)
    const key = await keyFor(7, ['events.read', 'commands.send', 'devices.read'])
    await using running = example('send_command.py', devEui, '01', key)
    const { value: command } = await world.commands.next()
    assert.match(String(command?.topicName), new RegExp(`${devEui}/command/down$`))
    await running.output(/accepted/)
    await world.publish(deviceAt(7), 'txack', { fCnt: 7 })
    await running.output(/sent/)
    await world.publish(deviceAt(7), 'ack', { fCnt: 7, acknowledged: true })
    await running.output(/acknowledged/)
    assert.equal((await running.ended()).code, 0, running.stderr)
  })

  test('an example writes a CSV file, and adds nothing twice', async () => {
    const { devEui } = deviceAt(1)
    const csv = join(folder, 'uplinks.csv')
    for (const fCnt of [11, 12]) {
      await using running = example('to_csv.py', csv)
      await running.complaint(/connection\.opened/)
      await publishUplink(1, { fCnt })
      await running.complaint(handled(devEui))
    }
    const rows = (await readFile(csv, 'utf8')).split('\r\n').map((row) => row.split(','))
    assert.deepEqual(
      rows.filter((row) => row[2] === devEui).map((row) => row[3]),
      ['11', '12'],
    )
  })

  test('an example closes a valve, and tells each step', async () => {
    const [sensor, valve] = [deviceAt(2), deviceAt(10)]
    await using running = example('close_valve.py', sensor.devEui, valve.devEui)
    await running.complaint(/connection\.opened/)
    await publishUplink(2, { fCnt: 21, data: '/w==' })
    const { value: command } = await world.commands.next()
    assert.match(String(command?.topicName), new RegExp(`${valve.devEui}/command/down$`))
    await running.output(/accepted/)
    await world.publish(valve, 'txack', { fCnt: 5 })
    await running.output(/sent/)
    await world.publish(valve, 'ack', { fCnt: 5, acknowledged: true })
    await running.output(/closed/)
  })

  test('an example switches a fan without asyncio', async () => {
    const fan = deviceAt(11)
    await using running = example('house.py', fan.devEui)
    await running.complaint(/connection\.opened/)
    await publishUplink(3, { fCnt: 31, object: { temperatureSensor: { '1': 27.5 } } })
    const { value: command } = await world.commands.next()
    assert.match(String(command?.text), /"data":"AQ=="/)
    await world.publish(fan, 'txack', { fCnt: 6 })
    await running.output(/the fan is on/)
  })

  test('an example prints the stored uplinks of a device', async () => {
    await publishUplink(4, { fCnt: 41 })
    const { devEui } = deviceAt(4)
    const output = await outputOf(installed, [join(EXAMPLES, 'history_to_json_lines.py'), devEui], { environment })
    assert.equal((JSON.parse(output) as { f_cnt: number }).f_cnt, 41)
  })

  test('an example writes to PostgreSQL, in one transaction with its place', async () => {
    const database = await startTestServer('an example of the Python SDK writes to PostgreSQL')
    if (database === undefined) return
    try {
      const url = database.newDatabase()
      const { devEui } = deviceAt(5)
      for (const fCnt of [51, 52]) {
        await using running = example('to_postgres.py', { DATABASE_URL: url })
        await running.complaint(/connection\.opened/)
        await publishUplink(5, { fCnt })
        await running.complaint(handled(devEui))
        running.signal('SIGKILL')
        await running.ended()
      }
      const rows = `SELECT string_agg(f_cnt::text, $$,$$ ORDER BY event_id) FROM uplinks WHERE dev_eui = $$${devEui}$$`
      assert.equal(database.run(url, rows), '51,52')
    } finally {
      await database.close()
    }
  })

  test('every example is run by a test', async () => {
    const here = await readFile(fileURLToPath(import.meta.url), 'utf8')
    const withKafka = await readFile(join(ROOT, 'test', 'recipes', 'kafka-example.long.ts'), 'utf8')
    for (const name of (await readdir(EXAMPLES)).filter((one) => one.endsWith('.py')))
      assert.ok((here + withKafka).includes(`'${name}'`), name)
  })

  /** Starts an example with its log on standard error. */
  function example(name: string, ...args: readonly (string | Readonly<Record<string, string>>)[]): Program {
    const words = args.filter((one) => typeof one === 'string')
    const further = args.filter((one) => typeof one !== 'string')
    const start = `import logging, runpy, sys; logging.basicConfig(level='INFO'); logging.getLogger('fieldgate').setLevel('DEBUG'); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')`
    return new Program(installed, ['-u', '-c', start, join(EXAMPLES, name), ...words], {
      environment: Object.assign({ ...environment }, ...further) as Record<string, string>,
    })
  }

  /** The setting of a program that has a key for one device, in the place of a password. */
  async function keyFor(index: number, rights: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const { service, organizationId } = world
    const apiKey = { name: `key-${index}`, rights, devEuis: [deviceAt(index).devEui] }
    const path = `/api/organizations/${organizationId}/api-keys`
    const made = await new Administration(service).must('POST', path, { apiKey })
    return { FIELDGATE_USER: '', FIELDGATE_PASSWORD: '', FIELDGATE_API_KEY: textIn(made, 'key') }
  }

  function deviceAt(index: number): WorldDevice {
    const device = world.devices[index]
    assert.ok(device !== undefined)
    return device
  }

  function publishUplink(index: number, members: object): Promise<void> {
    return world.publish(deviceAt(index), 'up', { fPort: 2, data: 'AQI=', ...members })
  }

  /** Writes the facts of an organization of its own, which the SDK's tests need. */
  async function writeFacts(file: string): Promise<void> {
    const { service } = world
    const administration = new Administration(service, 2000)
    const organizationId = await administration.organization()
    const credential = await administration.serviceCredential(organizationId)
    const { userName } = await administration.person([{ organizationId, isAdmin: true }])
    const facts = {
      url: service.https,
      ca: service.caFile,
      mqttsPort: service.mqttsPort,
      adminPassword: ADMIN_PASSWORD,
      user: userName,
      password: PASSWORD,
      organizationId,
      networkServer: credential.userName,
      networkServerPassword: credential.password,
    }
    await writeFile(file, JSON.stringify(facts))
  }
})

/** The log line of a handled event of the device. */
function handled(devEui: string): RegExp {
  return new RegExp(`event\\.handled .*${devEui}`)
}

/** Builds both packages, and installs the wheel alone into a fresh environment. */
async function installPackage(builder: string, folder: string): Promise<string> {
  const packages = join(folder, 'packages')
  const fresh = join(folder, 'fresh')
  await outputOf(builder, ['-m', 'build', '--no-isolation', '--outdir', packages, SDK], {
    environment: HOME,
    ms: SUITE_MS,
  })
  const built = await readdir(packages)
  assert.deepEqual(built.map((name) => name.replace(/-[0-9.]+[0-9]/, '')).toSorted(), [
    'fieldgate-py3-none-any.whl',
    'fieldgate.tar.gz',
  ])
  await outputOf(builder, ['-m', 'venv', '--without-pip', fresh], { environment: HOME })
  const installed = join(fresh, 'bin', 'python')
  const wheel = join(packages, built.find((name) => name.endsWith('.whl')) ?? '')
  const install = ['-m', 'pip', '--python', installed, 'install', '--quiet', '--no-index', '--no-deps', wheel]
  await outputOf(builder, install, { environment: HOME, ms: SUITE_MS })
  return installed
}

/** The folder of the packages on which the SDK stands. */
async function packagesOf(owner: string): Promise<string> {
  return (await outputOf(owner, ['-c', "import sysconfig; print(sysconfig.get_path('purelib'))"])).trim()
}
