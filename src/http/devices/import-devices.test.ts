import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import { NO_PROFILE } from '../../identity/devices/device-profile.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'

const ACTOR = { userId: null }

let deployment: TestDeployment

beforeEach(async () => {
  deployment = await openTestDeployment()
})

afterEach(async () => {
  await deployment.close()
})

interface Report {
  readonly dryRun: boolean
  readonly isComplete: boolean
  readonly stopped: string
  readonly totalCount: string
  readonly createdCount: string
  readonly updatedCount: string
  readonly unchangedCount: string
  readonly refusedCount: string
  readonly unknownColumns: readonly string[]
  readonly errors: readonly { line: number; devEUI: string; message: string; reason: string; sameAsLine: number }[]
  readonly message: string
}

async function upload(
  payload: string | Buffer | Readable,
  options: { readonly type?: string; readonly query?: string; readonly person?: Person } = {},
) {
  const { type = 'text/csv', query = `applicationID=${deployment.applicationId}`, person = 'deviceAdmin' } = options
  const answer = await deployment.ask(await deployment.session(person), {
    method: 'POST',
    url: `/api/devices/import?${query}`,
    headers: { 'content-type': type },
    payload,
  })
  return { status: answer.statusCode, report: answer.json<Report>() }
}

test('CSV becomes devices, with tags and variables, in the spellings of spreadsheets', async () => {
  const { status, report } = await upload(
    '\uFEFFDev EUI,Name,tag:floor,variable:offset,is_disabled,unknown\r\n' +
      '0xAA00000000000001,"meter, 1",3,0.5,no,x\r\n\r\naa00000000000002,,,,TRUE,\r\n',
    { type: 'text/csv; charset=utf-8' },
  )
  assert.equal(status, 200)
  assert.deepEqual(report, {
    dryRun: false,
    isComplete: true,
    stopped: '',
    totalCount: '2',
    createdCount: '2',
    updatedCount: '0',
    unchangedCount: '0',
    refusedCount: '0',
    unknownColumns: ['unknown'],
    errors: [],
  })
  const first = await deployment.registry.devices.get('aa00000000000001')
  assert.equal(first?.name, 'meter, 1')
  assert.deepEqual({ ...first?.tags }, { floor: '3' })
  assert.deepEqual({ ...first?.variables }, { offset: '0.5' })
  const second = await deployment.registry.devices.get('aa00000000000002')
  assert.equal(second?.name, 'aa00000000000002')
  assert.equal(second?.isDisabled, true)
})

test('a column names a device profile of the application’s organization by its name', async () => {
  const { registry, organizationId } = deployment
  const made = await registry.deviceProfiles.create(organizationId, { ...NO_PROFILE, name: 'Water meter' }, ACTOR)
  assert.ok(made.ok)
  const { report } = await upload(
    'devEUI,profile,deviceProfileID\n' +
      `aa00000000000001,water METER,\naa00000000000002,Water,\naa00000000000003,Water meter,other\naa00000000000004,,x\n`,
  )
  assert.deepEqual(
    report.errors.map(({ line, message, reason }) => [line, message, reason]),
    [
      [3, 'profile: the organization has no device profile "Water"', 'device_profile_not_found'],
      [4, 'profile: deviceProfileID names another profile', 'invalid_argument'],
    ],
  )
  assert.equal((await registry.devices.get('aa00000000000001'))?.deviceProfileId, made.value.id)
  assert.equal((await registry.devices.get('aa00000000000004'))?.deviceProfileId, 'x')
  const line = '{"devEUI":"aa00000000000005","profile":"Water meter"}'
  assert.equal((await upload(line, { type: 'application/x-ndjson' })).report.createdCount, '1')
  assert.equal((await registry.devices.get('aa00000000000005'))?.deviceProfileId, made.value.id)
})

test('JSON lines become devices, in pieces of any size and with a last line that has no end', async () => {
  const { applicationId, registry } = deployment
  const text =
    `{"devEUI":"aa00000000000001","name":"ü 1","applicationID":${applicationId},"tags":{"floor":"3"}}\n` +
    `\n{"devEui":"AA00000000000002","applicationID":"${applicationId}"}`
  const bytes = Buffer.from(text)
  const pieces = Array.from(bytes, (_byte, index) => bytes.subarray(index, index + 1))
  const { status, report } = await upload(Readable.from(pieces), { type: 'application/x-ndjson', query: '' })
  assert.equal(status, 200)
  assert.equal(report.createdCount, '2')
  assert.equal((await registry.devices.get('aa00000000000001'))?.name, 'ü 1')
})

test('each refused row is reported with its line, and the others are created', async () => {
  const { applicationId, foreignApplicationId, devEui } = deployment
  const { report } = await upload(
    [
      'devEUI,name,applicationID',
      'aa00000000000001,good,',
      'nonsense,bad,',
      `${devEui},taken,`,
      'aa00000000000002,foreign,' + foreignApplicationId,
      'aa00000000000003,unknown,987654',
      'aa00000000000004,wrong,abc',
      'aa00000000000005,short',
      `aa00000000000006,good too,${applicationId}`,
      'aa00000000000006,twice,',
    ].join('\n'),
  )
  assert.equal(report.createdCount, '2')
  assert.equal(report.refusedCount, '7')
  assert.deepEqual(
    report.errors.map(({ line, reason }) => [line, reason]),
    [
      [3, 'invalid_dev_eui'],
      [4, 'device_exists'],
      [5, 'object_not_found'],
      [6, 'object_not_found'],
      [7, 'invalid_argument'],
      [8, 'invalid_row'],
      [10, 'dev_eui_repeated'],
    ],
  )
  const [foreign, unknown] = report.errors.filter(({ line }) => line === 5 || line === 6)
  assert.equal(foreign?.message, unknown?.message)
})

test('a dry run writes nothing and reports what would be', async () => {
  const { devEui, foreignDevEui, registry } = deployment
  const { report } = await upload(`devEUI\naa00000000000001\naa00000000000001\n${devEui}\n${foreignDevEui}\n`, {
    query: `applicationID=${deployment.applicationId}&dryRun=true`,
  })
  assert.equal(report.dryRun, true)
  // The other organization's device is not given away by a preview.
  assert.equal(report.createdCount, '2')
  assert.deepEqual(
    report.errors.map(({ line, reason }) => [line, reason]),
    [
      [3, 'dev_eui_repeated'],
      [4, 'device_exists'],
    ],
  )
  assert.equal(await registry.devices.get('aa00000000000001'), undefined)
})

test('a DevEUI that is taken is told apart: by a line of the upload, by a visible device, by one elsewhere', async () => {
  const { devEui, foreignDevEui } = deployment
  const { report } = await upload(`devEUI\naa00000000000001\n${devEui}\n${foreignDevEui}\nAA-00-00-00-00-00-00-01\n`)
  assert.equal(report.createdCount, '1')
  assert.deepEqual(
    report.errors.map(({ line, devEUI, reason, sameAsLine }) => [line, devEUI, reason, sameAsLine]),
    [
      [3, devEui, 'device_exists', 0],
      [4, foreignDevEui, 'device_exists_elsewhere', 0],
      [5, 'aa00000000000001', 'dev_eui_repeated', 2],
    ],
  )
  const [visible, elsewhere, repeated] = report.errors
  const name = (await deployment.registry.devices.get(devEui))?.name ?? 'no name'
  assert.ok((visible?.message ?? '').includes(`"${name}"`))
  assert.equal(elsewhere?.message, 'a device of an organization that you are no member of has this DevEUI')
  assert.equal(repeated?.message, 'line 2 has the same DevEUI')
})

test('a row of several lines is told by its last one, and those behind it by theirs', async () => {
  const text = 'devEUI,name\r\nx,"a\r\nb"\r\n\r\ny,c\r\n'
  const { report } = await upload(Readable.from(Array.from(text, (letter) => Buffer.from(letter))))
  assert.deepEqual(
    report.errors.map(({ line }) => line),
    [3, 5],
  )
})

test('a refused row does not take its DevEUI from a later one', async () => {
  const { report } = await upload('devEUI,applicationID\naa00000000000001,987654\naa00000000000001,\n')
  assert.equal(report.createdCount, '1')
})

for (const [what, text] of [
  ['semicolons', 'devEUI;name\n@;a,b'],
  ['tabs', 'devEUI\tname\n@\ta,b'],
  ['tabs, one before an empty cell', 'name\tdescription\tdevEUI\na,b\t\t@'],
  ['semicolons, with a comma in the header', 'devEUI;name;tag:a,b,c,d\n@;a,b;'],
  ['semicolons in quotes', '"devEUI";"name"\n"@";"a,b"'],
  ['a line that names the separator', 'sep=;\r\ndevEUI;name\r\n@;a,b'],
  ['a byte order mark, empty lines, and empty rows at the end', '\uFEFF\r\ndevEUI;name\r\n@;a,b\r\n;\r\n;\r\n'],
] as const) {
  test(`CSV with ${what} is read`, async () => {
    const { status, report } = await upload(text.replace('@', 'aa00000000000001'))
    assert.equal(status, 200, report.message)
    assert.deepEqual([report.totalCount, report.errors], ['1', []])
    assert.equal((await deployment.registry.devices.get('aa00000000000001'))?.name, 'a,b')
  })
}

test('CSV in UTF-16 is read, whose first byte may come alone', async () => {
  const bytes = Buffer.from('\uFEFFdevEUI\tname\r\naa00000000000001\tü\r\n', 'utf16le')
  const { report } = await upload(Readable.from([bytes.subarray(0, 1), bytes.subarray(1)]))
  assert.equal(report.createdCount, '1', report.message)
  assert.equal((await deployment.registry.devices.get('aa00000000000001'))?.name, 'ü')
})

test('a DevEUI is read as labels and spreadsheets have it, and repeated as it is written where it is none', async () => {
  const written = ['AA-00-00-00-00-00-00-01', 'aa:00:00:00:00:00:00:02', 'aa00.0000.0000.0003', 'aa00 0000 0000 0004']
  const odd = ['"=""aa00000000000005"""', "'aa00000000000006", '0xaa00000000000007']
  const wrong = ['aa0000000000000', '1.23457E+15', 'x'.repeat(300), '']
  const { report } = await upload(
    ['devEUI,name', ...[...written, ...odd, ...wrong].map((cell) => `${cell},n`)].join('\n'),
  )
  assert.equal(report.createdCount, '7')
  assert.deepEqual(
    report.errors.map(({ line, devEUI, message }) => [line, devEUI, message]),
    [
      [9, 'aa0000000000000', 'devEUI: must be 16 hexadecimal digits'],
      [
        10,
        '1.23457E+15',
        'devEUI: a spreadsheet has rounded it to a number; format the column as text, and type it again',
      ],
      [11, `${'x'.repeat(100)}…`, 'devEUI: must be 16 hexadecimal digits'],
      [12, '', 'devEUI: is missing'],
    ],
  )
  assert.notEqual(await deployment.registry.devices.get('aa00000000000006'), undefined)
})

test('a number is no DevEUI: it may have lost digits', async () => {
  const { report } = await upload('{"devEUI":1000000000000001}\n', { type: 'application/x-ndjson' })
  assert.deepEqual([report.errors[0]?.reason, report.errors[0]?.devEUI], ['invalid_dev_eui', '1000000000000001'])
})

test('unknown columns and members are named, some of them, and stop nothing', async () => {
  const csv = await upload('devEUI,latitude,problem,,lon\naa00000000000001,1,p,,2\n')
  assert.deepEqual([csv.report.createdCount, csv.report.unknownColumns], ['1', ['latitude', 'lon']])
  const lines = Array.from({ length: 300 }, (_line, index) => `{"devEUI":"nonsense","x${index}":1,"name":"n"}`)
  const json = await upload(lines.join('\n'), { type: 'application/x-ndjson' })
  assert.deepEqual(
    json.report.unknownColumns,
    Array.from({ length: 100 }, (_name, index) => `x${index}`),
  )
})

test('empty lines without end before the header are refused at their bound', async () => {
  const pieces = Array.from({ length: 70 }, () => Buffer.alloc(1000, '\n'))
  const { status, report } = await upload(Readable.from([...pieces, Buffer.from('devEUI\naa00000000000001\n')]))
  assert.deepEqual([status, report.message], [400, 'line 1 is longer than 65536 characters'])
})

test('rows that would pollute prototypes are refused', async () => {
  const { report } = await upload(
    '{"devEUI":"aa00000000000001","tags":{"__proto__":"x"}}\n{"devEUI":"aa00000000000002","constructor":{"prototype":{}}}\n[]\n1\n{',
    { type: 'application/x-ndjson' },
  )
  assert.equal(report.createdCount, '0')
  assert.deepEqual(
    report.errors.map(({ reason }) => reason),
    ['invalid_row', 'invalid_row', 'invalid_row', 'invalid_row', 'invalid_row'],
  )
})

const NOT_UTF8 = 'the upload is not valid UTF-8; a spreadsheet program saves it as "CSV UTF-8"'

for (const [what, payload, type, message] of [
  ['without a header', '', 'text/csv', 'the CSV has no header line'],
  ['without a column devEUI', 'name\nx\n', 'text/csv', 'the CSV has no column devEUI; its columns are: name'],
  ['with a column twice', 'devEUI,name,Name\nx,y,z\n', 'text/csv', 'the CSV has the column name twice'],
  ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0x0a]), 'text/csv', NOT_UTF8],
  ['that ends inside a character', Buffer.from([0x7b, 0xc3]), 'application/x-ndjson', NOT_UTF8],
  [
    'with an endless row',
    `{"x":"${'y'.repeat(70_000)}`,
    'application/x-ndjson',
    'line 1 is longer than 65536 characters',
  ],
] as const) {
  test(`an upload ${what} is refused as a whole`, async () => {
    const { status, report } = await upload(payload, { type })
    assert.equal(status, 400)
    assert.equal(report.message, message)
  })
}

test('an open quote does not gather the upload', async () => {
  const { status, report } = await upload(`devEUI,name\naa00000000000001,"${'y'.repeat(200_000)}`)
  assert.equal(status, 400)
  assert.equal(report.message, 'line 2 is longer than 65536 characters')
})

for (const [what, filler] of [
  ['separators', ','],
  ['blanks', ' '],
  ['one cell', 'y'],
] as const) {
  test(`a row of ${what} without end is refused at its bound, and not at the end of the upload`, async () => {
    const piece = Buffer.alloc(1024 * 1024, filler)
    let sent = 0
    const endless = Readable.from(
      (function* () {
        yield Buffer.from('devEUI,name\r\naa00000000000001\r\n')
        for (; sent < 60; sent += 1) yield piece
      })(),
    )
    const startedMs = performance.now()
    const { status, report } = await upload(endless)
    assert.equal(status, 400)
    assert.equal(report.message, 'line 3 is longer than 65536 characters')
    assert.ok(performance.now() - startedMs < 5_000)
  })
}

test('an upload without a body is refused, any number of times, and imports go on', async () => {
  const session = await deployment.session('deviceAdmin')
  for (const headers of [{}, { 'content-type': 'text/csv' }]) {
    for (let count = 0; count < 5; count += 1) {
      const answer = await deployment.ask(session, { method: 'POST', url: '/api/devices/import', headers })
      assert.equal(answer.statusCode, 400, answer.body)
    }
  }
  const { status } = await upload('devEUI\naa00000000000001\n')
  assert.equal(status, 200)
})

test('whatever way an import fails, it gives its place back', async () => {
  const session = await deployment.session('deviceAdmin')
  const failing: readonly [string, Record<string, string>, string][] = [
    ['applicationID=999', { 'content-type': 'text/csv' }, 'devEUI\n'],
    ['applicationID=x', { 'content-type': 'text/csv' }, 'devEUI\n'],
    ['', { 'content-type': 'text/csv' }, '"'],
    ['', { 'content-type': 'application/json' }, '{}'],
    ['dryRun=perhaps', { 'content-type': 'text/csv' }, 'devEUI\n'],
  ]
  for (const [query, headers, payload] of failing) {
    for (let count = 0; count < 5; count += 1) {
      const answer = await deployment.ask(session, {
        method: 'POST',
        url: `/api/devices/import?${query}`,
        headers,
        payload,
      })
      assert.ok(answer.statusCode >= 400 && answer.statusCode < 500 && answer.statusCode !== 429, answer.body)
    }
  }
  const { status } = await upload('devEUI\naa00000000000001\n')
  assert.equal(status, 200)
})

test('an upload that breaks after rows were created tells so in its report', async () => {
  const rows = Array.from({ length: 3000 }, (_row, index) => Buffer.from(`aa${String(index).padStart(14, '0')},x\n`))
  const pieces = [Buffer.from('devEUI,name\n'), ...rows, Buffer.from([0xff, 0x0a])]
  const { status, report } = await upload(Readable.from(pieces))
  assert.equal(status, 200)
  assert.ok(Number(report.createdCount) >= 500)
  const last = await deployment.registry.devices.list(
    { userId: deployment.userIds.globalAdmin, isAdmin: true },
    { limit: 0, offset: 0, search: 'aa00' },
  )
  assert.equal(String(last.totalCount), report.createdCount)
  assert.equal(report.isComplete, false)
  assert.equal(report.stopped, NOT_UTF8)
})

test('an upload that is too large is refused by its length, and by its bytes where no length is told', async () => {
  const byLength = await deployment.ask(await deployment.session('deviceAdmin'), {
    method: 'POST',
    url: '/api/devices/import',
    headers: { 'content-type': 'text/csv', 'content-length': String(64 * 1024 * 1024 + 1) },
    payload: 'devEUI\n',
  })
  assert.equal(byLength.statusCode, 413)
  const line = Buffer.alloc(1024 * 1024, '\n')
  const endless = Readable.from(Array.from({ length: 66 }, () => line))
  const byBytes = await upload(endless, { type: 'application/x-ndjson' })
  assert.equal(byBytes.status, 413)
})

test('over a connection, an upload that is too large is answered, and one that breaks off is the client’s fault', async () => {
  const { app, logLines } = deployment
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const authorization = `Bearer ${await deployment.session('deviceAdmin')}`
  const options = { host: '127.0.0.1', port, method: 'POST', path: '/api/devices/import' }
  const headers = { authorization, 'content-type': 'application/x-ndjson' }
  const line = Buffer.alloc(1024 * 1024, '\n')
  /** Undefined: the connection was closed before the client had read the answer. */
  const uploadLarge = async (): Promise<IncomingMessage | undefined> => {
    const large = request({ ...options, headers })
    const answered = new Promise<IncomingMessage | undefined>((resolve) => {
      large.once('response', resolve)
      large.on('error', () => resolve(undefined))
    })
    await pipeline(Readable.from(Array.from({ length: 66 }, () => line)), large).catch(() => undefined)
    return await answered
  }
  // The service closes the connection while the upload goes on, so a client may miss the answer.
  let response: IncomingMessage | undefined
  for (let tries = 1; response === undefined && tries <= 5; tries += 1) response = await uploadLarge()
  assert.equal(response?.statusCode, 413)
  response.destroy()

  logLines.length = 0
  const arrived = once(app.server, 'request')
  const broken = request({ ...options, headers })
  broken.on('error', () => undefined)
  broken.write('{"devEUI":')
  await arrived
  const aborted = once(deployment.logged, 'request.aborted')
  broken.destroy()
  await aborted
  assert.ok(!logLines.join('').includes('request.failed'))
})

test('an import is one entry of the audit, with the number of all its devices', async () => {
  const { organizationId, registry, userIds } = deployment
  const entries = async () => {
    const { items } = await registry.audit.list(
      { userId: '', isAdmin: true },
      { limit: 1000, offset: 0, organizationId, search: '.created' },
    )
    return items.filter(({ action }) => action === 'device.created' || action === 'devices.created')
  }
  const before = (await entries()).length
  const rows = Array.from({ length: 120 }, (_row, index) => `bb${index.toString(16).padStart(14, '0')}\n`)
  assert.equal((await upload(`devEUI\n${rows.join('')}`)).report.createdCount, '120')
  const [entry, ...older] = await entries()
  assert.equal(older.length, before)
  assert.deepEqual(
    [entry?.action, entry?.subject, entry?.detail, entry?.actorUserId],
    ['devices.created', organizationId, { count: 120 }, userIds.deviceAdmin],
  )
  // The next import has an entry of its own, and one device stands there with its DevEUI.
  assert.equal((await upload('devEUI,name\ncc00000000000001,alone\n')).report.createdCount, '1')
  const [alone, ...others] = await entries()
  assert.equal(others.length, before + 1)
  assert.deepEqual(
    [alone?.action, alone?.subject, alone?.detail['name']],
    ['device.created', 'cc00000000000001', 'alone'],
  )
})

test('other content types are refused, and a member may not import', async () => {
  assert.equal((await upload('{}', { type: 'application/json' })).status, 415)
  assert.equal((await upload('devEUI\n', { person: 'member' })).status, 403)
  assert.equal((await upload('devEUI\n', { person: 'stranger' })).status, 404)
})

test('20,000 rows are imported', async (context) => {
  const rows = Array.from({ length: 20_000 }, (_row, index) => `bb${index.toString(16).padStart(14, '0')},d ${index}\n`)
  const startedMs = performance.now()
  const { report } = await upload(`devEUI,name\n${rows.join('')}`)
  assert.equal(report.createdCount, '20000')
  context.diagnostic(`import: ${Math.round(20_000 / ((performance.now() - startedMs) / 1000))} rows/s`)
})
