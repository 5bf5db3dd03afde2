/** The packed SDK and its examples, against the real service and real servers. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chooseRuntime } from '../../bin/runtime.mjs'
import { pinnedNode, root } from '../../scripts/setup.mjs'
import { startTestServer } from '../postgresql/test-server.ts'
import { freePort } from '../support/free-port.ts'
import { received } from '../support/live-connections.ts'
import { npmParts } from '../support/npm-parts.ts'
import { Program, runProgram } from '../support/program.ts'
import { installPackage, NODE } from './installed-package.ts'
import type { InstalledPackage, Runtime } from './installed-package.ts'
import { startSdkWorld } from './sdk-world.ts'
import type { Place, SdkWorld } from './sdk-world.ts'

/** Characters of the service's log that a failed wait shows. */
const MAXIMUM_LOG = 4_000

let world: SdkWorld
let installed: InstalledPackage
const database = await startTestServer('the example for PostgreSQL')
const deno = await findDeno()

before(async () => {
  installed = await installPackage()
  world = await startSdkWorld()
})

after(async () => {
  await world?.[Symbol.asyncDispose]()
  await installed?.[Symbol.asyncDispose]()
  await database?.close()
})

/** Resolves when `look` has found something. The program is the one that is to bring it. */
async function until<T>(
  what: string,
  program: Program,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    const isInTime = performance.now() < deadline
    if (program.hasEnded || !isInTime) assert.fail(`waited for ${what} of a program that ${stateOf(program)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The promise's value. A rejection tells how far the program has come. */
async function told<T>(program: Program, waiting: Promise<T>): Promise<T> {
  try {
    return await waiting
  } catch (error) {
    throw new Error(`${String(error)}, beside a program that ${stateOf(program)}`, { cause: error })
  }
}

/** Says how far a program has come, with the end of the service's log. */
function stateOf({ hasEnded, stdout, stderr }: Program): string {
  const log = world.service.logText().slice(-MAXIMUM_LOG)
  return `${hasEnded ? 'has ended' : 'runs'}; it said: ${stdout}${stderr}; the service: ${log}`
}

/** Publishes uplinks while the program is killed and started again. */
async function overKills(start: () => Program, place: Place, count: () => Promise<number> | number): Promise<void> {
  for (const fCnt of [1, 2, 3]) await place.uplink(fCnt)
  const first = start()
  await until('3 results', first, async () => ((await count()) >= 3 ? true : undefined))
  await kill(first)
  for (const fCnt of [4, 5]) await place.uplink(fCnt)
  await using second = start()
  await until('5 results', second, async () => ((await count()) >= 5 ? true : undefined))
}

/** Stops an example as a crash does. */
async function kill(program: Program): Promise<void> {
  program.signal('SIGKILL')
  await program.ended()
}

describe('the package', () => {
  it('has types for all examples, on Node and in a browser', async () => {
    const options = {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable'],
      module: 'nodenext',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
    }
    const settings = { compilerOptions: options, include: ['*.ts'] }
    await writeFile(join(installed.folder, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = await runProgram(pinnedNode, [compiler, '-p', installed.folder], { ms: 60_000 })
    assert.equal(stdout, '')
  })

  it('shows the ten lines that run', async () => {
    const readme = await readFile(join(root, 'sdk', 'typescript', 'README.md'), 'utf8')
    const [, first] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
    assert.equal(first, await readFile(join(installed.folder, 'ten-lines.ts'), 'utf8'))
    assert.ok((first?.split('\n').length ?? 0) <= 11)
  })

  it('sends a command in ten lines, with a key for one device', async () => {
    const place = await world.place()
    const { networkServer } = world
    assert.equal(await networkServer.subscribe(`application/${place.application}/device/+/command/down`), 1)
    const rights = ['events.read', 'commands.send', 'devices.read']
    const environment = { FIELDGATE_API_KEY: await world.apiKey(rights, { devEuis: [place.device] }) }
    const args = [place.device, 'AQ==']
    await using program = installed.start(world, 'send-command.ts', environment, NODE, args)
    const { payload } = await received(networkServer)
    const { id: queueItemId, data } = JSON.parse(payload) as { readonly id: string; readonly data: string }
    assert.equal(data, 'AQ==')
    await program.output(/accepted/)
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await program.output(/sent/)
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: true })
    await program.output(/acknowledged/)
    assert.equal((await program.ended()).code, 0)
    // The key reaches no other device.
    const other = await world.place()
    await using refused = installed.start(world, 'send-command.ts', environment, NODE, [other.device, 'AQ=='])
    assert.notEqual((await refused.ended()).code, 0)
    assert.match(refused.stderr, /object_not_found/)
  })

  const runtimes: Readonly<Record<string, Runtime | undefined>> = {
    Node: NODE,
    Bun: [chooseRuntime(root, 'bun').program],
    Deno: deno,
  }
  for (const [name, runtime] of Object.entries(runtimes)) {
    it(`runs its ten lines on ${name}`, { skip: runtime === undefined && `${name} is not here` }, async () => {
      const place = await world.place()
      const environment = {
        FIELDGATE_SDK_DIR: join(installed.folder, `positions-${name}`),
        FIELDGATE_API_KEY: await world.apiKey(['events.read']),
      }
      await using program = installed.start(world, 'ten-lines.ts', environment, runtime)
      // The stream begins when the program has logged in.
      await until('the output', program, async () => {
        await place.uplink(118)
        return program.stdout.includes('118') ? true : undefined
      })
      assert.match(program.stdout, new RegExp(`meter ${place.device} 118`), program.stderr)
    })
  }
})

/** Deno from its npm packages; undefined where Deno has none for this machine. */
async function findDeno(): Promise<Runtime | undefined> {
  const builds = join(await npmParts(join(root, 'test', 'sdk', 'deno-parts')), 'node_modules', '@deno')
  // npm installs the build for this machine alone.
  const [build] = await readdir(builds).catch(() => [])
  if (build !== undefined) return [join(builds, build, 'deno'), 'run', '--allow-all', '--no-prompt']
  console.error(`SKIPPED: the SDK on Deno: there is no Deno for ${process.platform} on ${process.arch}`)
  return undefined
}

describe('an example', () => {
  it('writes uplinks to a CSV, over a kill', async () => {
    const place = await world.place()
    const file = join(installed.folder, 'uplinks.csv')
    const lines = async (): Promise<readonly string[]> =>
      (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line.includes(place.device))
    await overKills(
      () => installed.start(world, 'to-csv.ts', { FIELDGATE_CSV: file }),
      place,
      async () => (await lines()).length,
    )
    assert.deepEqual(
      (await lines()).map((line) => line.split(',').slice(1).join(',')),
      [1, 2, 3, 4, 5].map((fCnt) => `"${place.device}","meter ${place.device}","${fCnt}","2","0102"`),
    )
  })

  it('writes events to PostgreSQL exactly once, over a kill', { skip: database === undefined }, async () => {
    assert.ok(database !== undefined)
    const url = database.newDatabase()
    const place = await world.place()
    const select = (what: string): string =>
      database.run(url, `select ${what} from events where dev_eui = '${place.device}'`)
    const count = (): number => {
      const isThere = database.run(
        url,
        "select to_regclass('positions') is not null and to_regclass('events') is not null",
      )
      return isThere === 't' ? Number(select('count(*)')) : 0
    }
    await overKills(() => installed.start(world, 'to-postgresql.ts', { DATABASE_URL: url }), place, count)
    assert.equal(select("string_agg(body->>'fCnt', ',' order by split_part(id, '-', 2)::int)"), '1,2,3,4,5')
  })

  it('adds uplinks to a stream of Redis exactly once, over a kill', { skip: !hasRedis() }, async () => {
    const place = await world.place()
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-redis-'))
    const port = await freePort()
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
    {
      await using redis = new Program('redis-server', settings)
      await redis.output(/Ready to accept connections/)
      const ask = (...args: readonly string[]): string =>
        execFileSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' })
      const key = `fieldgate:${place.application}`
      const environment = { REDIS_URL: `redis://127.0.0.1:${port}` }
      await overKills(
        () => installed.start(world, 'to-redis-stream.ts', environment),
        place,
        () => Number(ask('XLEN', key)),
      )
      const counters = [...ask('XRANGE', key, '-', '+').matchAll(/fCnt\n(\d+)/g)].map(([, fCnt]) => Number(fCnt))
      assert.deepEqual(counters, [1, 2, 3, 4, 5])
    }
    await rm(folder, { recursive: true, force: true })
  })

  it('writes the numbers of uplinks to InfluxDB once, over a kill', { skip: !hasInfluxDb() }, async () => {
    const place = await world.place()
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-influxdb-'))
    const port = await freePort()
    {
      await using server = new Program('influxd', ['-config', '/dev/null'], {
        environment: {
          INFLUXDB_REPORTING_DISABLED: 'true',
          INFLUXDB_BIND_ADDRESS: `127.0.0.1:${await freePort()}`,
          INFLUXDB_HTTP_BIND_ADDRESS: `127.0.0.1:${port}`,
          INFLUXDB_META_DIR: join(folder, 'meta'),
          INFLUXDB_DATA_DIR: join(folder, 'data'),
          INFLUXDB_DATA_WAL_DIR: join(folder, 'wal'),
          INFLUXDB_MONITOR_STORE_ENABLED: 'false',
        },
      })
      await server.complaint(/Listening for signals/)
      const address = `http://127.0.0.1:${port}`
      const ask = async (text: string): Promise<InfluxRows> => {
        const body = new URLSearchParams({ q: text, db: 'meters' })
        const answer = (await (await fetch(`${address}/query`, { method: 'POST', body })).json()) as InfluxAnswer
        return answer.results[0]?.series?.[0]?.values ?? []
      }
      await ask('create database meters')
      const environment = { INFLUXDB_WRITE_URL: `${address}/write?db=meters` }
      const query = `select "fCnt", temperature_1 from uplink where devEui = '${place.device}' order by time`
      await overKills(
        () => installed.start(world, 'to-influxdb.ts', environment),
        { ...place, uplink: (fCnt) => place.publish('up', { fCnt, ...warmth(fCnt) }) },
        async () => (await ask(query)).length,
      )
      const rows = (await ask(query)).map(([, ...fields]) => fields)
      assert.deepEqual(
        rows,
        [1, 2, 3, 4, 5].map((fCnt) => [fCnt, 20 + fCnt]),
      )
    }
    await rm(folder, { recursive: true, force: true })
  })

  it('closes a valve, and says what became of the command', async () => {
    // The bot reads all applications, from the second on in which it logs in: an uplink of another
    // test in this second would be a leak as well.
    await using own = await startSdkWorld()
    const place = await own.place()
    const { networkServer } = own
    await using program = installed.start(own, 'valve-bot.ts')
    // The device reports its leak until the valve closes.
    await until('the command', program, async () => {
      await told(program, place.publish('up', { deviceName: 'valve 7', fCnt: 1, fPort: 1, data: 'AQ==' }))
      return program.stdout.includes('the command is accepted') ? true : undefined
    })
    const subscribed = networkServer.subscribe(`application/${place.application}/device/+/command/down`)
    assert.equal(await told(program, subscribed), 1)
    const { payload } = await told(program, received(networkServer))
    const { id: queueItemId, data } = JSON.parse(payload) as { readonly id: string; readonly data: string }
    assert.equal(data, 'AA==')
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: true })
    await program.output(/valve 7: the valve is closed/)
  })
})

/** The rows of a query of InfluxDB: the time, and the fields that were asked for. */
type InfluxRows = readonly (readonly unknown[])[]

interface InfluxAnswer {
  readonly results: readonly { readonly series?: readonly { readonly values: InfluxRows }[] }[]
}

/** Members of an uplink with a decoded temperature. */
function warmth(fCnt: number): object {
  const rxInfo = [{ gatewayID: '0102030405060708', name: 'roof', time: '2026-01-31T12:00:00Z', rssi: -80, loRaSNR: 7 }]
  return { deviceName: 'stove', rxInfo, fPort: 1, data: 'AQ==', object: { temperature: { '1': 20 + fCnt } } }
}

function hasRedis(): boolean {
  return hasProgram('redis-server', ['--version'], 'Redis', 'redis-server')
}

function hasInfluxDb(): boolean {
  return hasProgram('influxd', ['version'], 'InfluxDB', 'influxdb')
}

/** Whether a server is here. `debian` is its package. */
function hasProgram(program: string, args: readonly string[], name: string, debian: string): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    console.error(`SKIPPED: the example for ${name}: ${program} is not here (Debian: apt-get install ${debian})`)
    return false
  }
}
