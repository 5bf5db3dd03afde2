/**
 * The recipe of docs/how-to/telegraf.md with a real Telegraf and a real PostgreSQL, and the queries
 * of docs/how-to/grafana.md on its rows. `FIELDGATE_TEST_TELEGRAF` names the program.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { startTestServer } from '../postgresql/test-server.ts'
import type { TestServer } from '../postgresql/test-server.ts'
import { documentedBlock } from '../support/documented.ts'
import { Program } from '../support/program.ts'
import { absenceOf, writeWithToken } from './recipe-world.ts'

const missing = absenceOf('FIELDGATE_TEST_TELEGRAF', 'version')

describe('Telegraf with the configuration of the page', { skip: missing ?? false }, () => {
  let folder: string
  let world: World
  let server: TestServer
  let database: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-telegraf-'))
    world = await startWorld()
    const started = await startTestServer('Telegraf into PostgreSQL')
    assert.ok(started !== undefined)
    server = started
    database = server.newDatabase()
    const { service, applicationId } = world
    const input = await documentedBlock('telegraf.md', 'input', {
      'fieldgate.example.org:8883': `localhost:${service.mqttsPort}`,
      APPLICATION: applicationId,
      '/etc/telegraf/fieldgate-ca.pem': service.caFile,
    })
    await writeWithToken(world, input, join(folder, 'fieldgate.conf'))
    const { port, pathname, hostname } = new URL(database)
    const output = await documentedBlock('telegraf.md', 'output', {
      '127.0.0.1': hostname,
      '5432': port,
      'user=telegraf': 'user=postgres',
      'dbname=metrics': `dbname=${pathname.slice(1)}`,
      // The test does not wait for the page's pace.
      'interval = "10s"': 'interval = "1s"',
    })
    await writeFile(join(folder, 'telegraf.conf'), output)
  })

  after(async () => {
    await server?.close()
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('loses no uplink of its absence, and none while it takes a new token', async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    const publish = (fCnt: number): Promise<void> => world.publish(device, 'up', climateUplink(fCnt))
    {
      await using telegraf = startTelegraf()
      await telegraf.complaint(/Connected/)
      await publish(1)
      await rowsAre('1')
      await writeWithToken(world, await templateOf(), join(folder, 'fieldgate.conf'))
      telegraf.signal('SIGHUP')
      await publish(2)
      await rowsAre('1,2')
    }
    await publish(3)
    await using telegraf = startTelegraf()
    await telegraf.complaint(/Connected/)
    await publish(4)
    await rowsAre('1,2,3,4')
    const row = server.run(
      database,
      `select dev_eui, device, application, "temperatureSensor_1" from uplink where f_cnt = 1`,
    )
    assert.match(row, new RegExp(`^${device.devEui}\\|${device.name}\\|${world.applicationId}\\|18\\.7$`))
  })

  test('fills the queries of the dashboard', async () => {
    for (const name of ['temperature', 'silent', 'rate']) {
      const query = await documentedBlock('grafana.md', name, {})
      const sql = query
        .replaceAll(/\$__timeFilter\(time\)/g, "time > now() - interval '1 hour'")
        .replaceAll(/\$__timeGroupAlias\(time, '1h'\)/g, `date_trunc('hour', time) as "time"`)
      assert.notEqual(server.run(database, sql), '', name)
    }
  })

  async function templateOf(): Promise<string> {
    const { service, applicationId } = world
    return documentedBlock('telegraf.md', 'input', {
      'fieldgate.example.org:8883': `localhost:${service.mqttsPort}`,
      APPLICATION: applicationId,
      '/etc/telegraf/fieldgate-ca.pem': service.caFile,
    })
  }

  function startTelegraf(): Program {
    const files = ['--config', join(folder, 'telegraf.conf'), '--config', join(folder, 'fieldgate.conf')]
    return new Program(process.env['FIELDGATE_TEST_TELEGRAF'] ?? '', files)
  }

  /**
   * Waits until the table has these frame counters. Only the database can tell when a row is
   * there. As the page says, an uplink may be written twice: Telegraf reads its new configuration,
   * or ends, between the row and the acknowledgement.
   */
  async function rowsAre(wanted: string): Promise<void> {
    const end = performance.now() + 30_000
    for (;;) {
      const isThere = server.run(database, `select to_regclass('uplink') is not null`) === 't'
      const all = "select string_agg(f_cnt::text, ',' order by f_cnt) from (select distinct f_cnt from uplink) rows"
      const rows = isThere ? server.run(database, all) : ''
      if (rows === wanted) return
      assert.ok(performance.now() < end, `the rows are ${rows}`)
      await pause(200)
    }
  }
})
