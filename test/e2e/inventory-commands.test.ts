/** The inventory of a stand-in of The Things Stack, by the commands of an operator. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { commandLine, json, succeed } from '../../src/cli/command-line.testing.ts'
import type { Shell } from '../../src/cli/command-line.testing.ts'
import {
  listing,
  openStandIn,
  settingsFor,
  STAND_IN_KEY,
} from '../../src/lorawan/network-servers/http/the-things-stack.testing.ts'
import type { StandIn } from '../../src/lorawan/network-servers/http/the-things-stack.testing.ts'
import { Administration } from '../support/administration.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const FORMATTERS = {
  up_formatter: 'FORMATTER_JAVASCRIPT',
  up_formatter_parameter: 'function decodeUplink(input) { return { data: { battery: input.bytes[0] } } }',
}

let standIn: StandIn
let listed = 3
let folder: string
let service: RunningService
let administration: Administration
let shell: Shell

before(async () => {
  standIn = await openStandIn((url) => listing(listed, FORMATTERS)(url))
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-inventory-'))
  const file = join(folder, 'network-servers.json')
  await writeFile(file, settingsFor(standIn))
  service = await startInProcess({ environment: { FIELDGATE_NETWORK_SERVERS_FILE: file, FIELDGATE_LOG_LEVEL: 'info' } })
  administration = new Administration(service)
  assert.equal(await administration.organization('alpine'), '1')
  await administration.organization('valley')
  await administration.application('1', { name: 'Meters of the valley' })
  shell = commandLine(service.dataDirectory)
})

after(async () => {
  await service.stop()
  await standIn[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** The list of inventories, once the step has run. */
async function ranList(): Promise<string> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const list = await succeed(shell, 'inventory list --organization alpine')
    if (!list.includes('not run yet')) return list
    assert.ok(performance.now() < deadline, list)
  }
}

test('look shows what import then does, and a second import changes nothing', async () => {
  assert.match(
    await succeed(shell, 'inventory list --organization alpine'),
    /^NETWORK SERVER +KIND +SECONDS +LAST RUN +RESULT\nttn +the-things-stack\n$/,
  )
  const look = await succeed(shell, 'inventory look ttn --organization alpine --tag site=north')
  assert.match(look, /^NAME +APPLICATION THERE +HERE +OUTCOME +MESSAGE\nMeters of the valley +meters +1 +unchanged/)
  assert.match(look, /\nDEVICE PROFILE +CHANGES +OUTCOME +MESSAGE\nacme flow 2\.0 EU_863_870 +created/)
  assert.match(look, /\n0000000000000002 {2}Meter 2 +created/)
  assert.match(look, /\n3 devices would be created, 0 changed, 0 as they are, 0 refused\.\n$/)
  assert.match(
    await succeed(shell, 'inventory import ttn --organization alpine --tag site=north'),
    /\n3 devices created, 0 changed, 0 as they are, 0 refused\.\n$/,
  )
  const device = await succeed(shell, 'device get 0000000000000002')
  assert.match(device, /tags +\{"street":"north","site":"north"\}/)
  assert.match(device, /variables +\{"theThingsStackDeviceId":"meter-2","inventoryOf":"ttn"\}/)
  const again = await json(shell, 'inventory import ttn --organization alpine --tag site=north')
  assert.deepEqual([again['createdCount'], again['updatedCount'], again['unchangedCount']], [0, 0, 3])
})

test('an application of the network server is named by its id, with an application here', async () => {
  await administration.application('1', { name: 'other' })
  const moved = await json(shell, 'inventory look ttn --organization alpine --application meters=other')
  assert.deepEqual([moved['createdCount'], moved['updatedCount']], [0, 3])
  const [device] = moved['devices'] as readonly { readonly members: readonly string[] }[]
  assert.deepEqual(device?.members, ['applicationId'])
})

test('an application that the network server does not have is told, and the import fails', async () => {
  const options = '--organization alpine --application theirs=other --application meters=1 --tag site=north'
  const look = await succeed(shell, `inventory look ttn ${options}`)
  const row = 'theirs +theirs +2 +missing +the network server has no application with this id'
  assert.match(look, new RegExp(`\\n${row}\\n`))
  assert.match(look, /, 0 refused\. 1 chosen application is missing there\.\n$/)
  const { code, out } = await shell(`inventory import ttn ${options}`)
  assert.deepEqual([code, out.endsWith(' 1 chosen application is missing there.\n')], [1, true])
  const report = await json(shell, `inventory look ttn ${options}`)
  assert.deepEqual([report['createdCount'], report['updatedCount'], report['unchangedCount']], [0, 0, 3])
  const [, gone] = report['applications'] as readonly { readonly [member: string]: unknown }[]
  assert.deepEqual(
    [gone?.['networkServerApplicationID'], gone?.['applicationID'], gone?.['outcome'], gone?.['reason']],
    ['theirs', '2', 'missing', 'network_server_application_not_found'],
  )
})

test('a choice of no application is refused at its member; a look lists the applications', async () => {
  const { http, adminSession: token } = service
  const organizationID = '1'
  const nothing = { applications: {} }
  for (const [method, path, body, member] of [
    ['PUT', 'step', { organizationID, inventoryStep: nothing }, 'inventoryStep'],
    ['POST', 'import', { organizationID, inventoryImport: nothing }, 'inventoryImport'],
  ] as const) {
    const answer = await http.ask(method, `/api/inventories/ttn/${path}`, { token, json: body })
    assert.deepEqual(
      [answer.status, answer.body['message']],
      [400, `${member}.applications: must name an application, or be left out for all by their ids and names`],
    )
  }
  const { code, error } = await shell('inventory keep-in-step ttn --organization alpine --application')
  assert.deepEqual([code, error.includes("'--application <theirs=ours>' argument missing")], [2, true])
  const { result } = await json(shell, 'inventory list --organization alpine')
  assert.equal((result as readonly { readonly step: unknown }[])[0]?.step, null)
  const look = { organizationID, dryRun: true, inventoryImport: nothing }
  const report = await http.must('POST', '/api/inventories/ttn/import', { token, json: look })
  assert.partialDeepStrictEqual(report, { applications: [{ outcome: 'leftOut' }], devices: [], unchangedCount: 0 })
})

test('an organization that does not own the network server sees no inventory', async () => {
  assert.equal(
    await succeed(shell, 'inventory list --organization valley'),
    'NETWORK SERVER  KIND  SECONDS  LAST RUN  RESULT\n',
  )
  const { code, error } = await shell('inventory look ttn --organization valley')
  assert.equal(code, 1)
  assert.match(error, /no network server ttn with an inventory/)
})

test('the key of the network server is in no log, and in no answer', async () => {
  const { http, adminSession: token } = service
  const audit = await http.must('GET', '/api/audit-log', { token })
  const list = await http.must('GET', '/api/inventories?organizationID=1', { token })
  for (const text of [service.logText(), JSON.stringify(audit), JSON.stringify(list)]) {
    assert.ok(!text.includes(STAND_IN_KEY))
  }
})

test('kept in step, it tells of a device that is gone; the step ends on wish', async () => {
  listed = 2
  const { result: unkept } = await json(shell, 'inventory list --organization alpine')
  assert.equal((unkept as readonly { readonly step: unknown }[])[0]?.step, null)
  assert.equal(
    await succeed(shell, 'inventory keep-in-step ttn --organization alpine --interval-seconds 300 --tag site=north'),
    'The organization is kept in step with ttn.\n',
  )
  assert.match(
    await ranList(),
    /\nttn +the-things-stack +300 +\S+ +0 devices created, 0 changed, 2 as they are, 0 refused, 1 missing there, 0 removed\.\n$/,
  )
  await succeed(shell, 'inventory end-step ttn --organization alpine --yes')
  assert.match(await succeed(shell, 'inventory list --organization alpine'), /\nttn +the-things-stack\n$/)
})

test('kept in step by ids, it tells of an application that is gone', async () => {
  const chosen = '--application meters=1 --application theirs=other'
  await succeed(shell, `inventory keep-in-step ttn --organization alpine ${chosen}`)
  const list = await ranList()
  assert.match(
    list,
    / 2 as they are, 0 refused, 1 missing there, 0 removed\. 1 chosen application is missing there\.\n$/,
  )
  await succeed(shell, 'inventory end-step ttn --organization alpine --yes')
})
