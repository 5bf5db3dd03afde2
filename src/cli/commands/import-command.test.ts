import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandLine, succeed } from '../command-line.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-import-'))
after(() => rm(scratch, { recursive: true }))
const shell = commandLine(join(scratch, 'data'))
const file = join(scratch, 'meters.csv')

const devEui = (index: number): string => (0x0a00_0000 + index).toString(16).padStart(16, '0')

before(async () => {
  await succeed(shell, 'init')
  await succeed(shell, 'organization create alpine')
  await succeed(shell, 'application create water --organization alpine')
})

describe('fieldgate import', () => {
  it('reads the table of a spreadsheet, and tells what is wrong with it in the order of its lines', async () => {
    const rows = [
      'Dev EUI;name;latitude;lon',
      '01-01-01-01-01-01-01-01;a;1;2',
      '0A-0B;b;;',
      '01:01:01:01:01:01:01:01;c;;',
      '',
      '0202020202020202;d;;',
    ]
    await writeFile(file, rows.join('\r\n'))
    const first = await shell(`import ${file} --application water`)
    assert.deepEqual(
      [first.code, first.out, first.error.split('\n')],
      [
        1,
        '2 devices created\n',
        [
          'Not imported, because no device has such a column: latitude, lon',
          'line 3 0A-0B: devEUI: must be 16 hexadecimal digits',
          'line 4 0101010101010101: line 2 has the same DevEUI',
          'fieldgate: 2 of 4 rows refused.',
          '',
        ],
      ],
    )
    const again = await shell(`import ${file} --application water`)
    assert.match(
      again.error,
      /^line 2 0101010101010101: the device "a" in application "water" of organization "alpine" /m,
    )
  })

  it('tells a DevEUI that stands in the file twice by its first line, also when that was sent before', async () => {
    const rows = Array.from({ length: 2100 }, (_, index) => `${devEui(index)},meter ${index}`)
    await writeFile(file, ['devEUI,name', ...rows, `${devEui(7)},again`, `${devEui(2050)},again`].join('\n'))
    const { out, error } = await shell(`import ${file} --application water --json`)
    const { created, errors } = JSON.parse(out) as { readonly created: number; readonly errors: readonly object[] }
    assert.equal(created, 2100, error)
    assert.deepEqual(errors, [
      {
        line: 2102,
        devEUI: devEui(7),
        message: 'line 9 has the same DevEUI',
        reason: 'dev_eui_repeated',
        sameAsLine: 9,
      },
      {
        line: 2103,
        devEUI: devEui(2050),
        message: 'line 2052 has the same DevEUI',
        reason: 'dev_eui_repeated',
        sameAsLine: 2052,
      },
    ])
  })

  it('says that a file is empty', async () => {
    await writeFile(file, '')
    assert.match((await shell(`import ${file} --application water`)).error, /The CSV has no header line\./)
  })

  it('changes devices that exist where that is wanted, from a table that an export has made', async () => {
    await succeed(shell, 'application create gas --organization alpine')
    await writeFile(file, `devEUI,name,tag:floor\n${devEui(900_000)},one,1\n${devEui(900_001)},two,\n`)
    await succeed(shell, `import ${file} --application gas`)
    const table = await succeed(shell, 'device export --application gas')
    assert.match(table, /^devEUI,name,.*,tag:floor\r\n/)
    await writeFile(file, `${table.replace(',two,', ',second,')}${devEui(900_002)},three,,,,,,,\r\n`)
    const update = `import ${file} --application gas --update`
    assert.equal(
      await succeed(shell, `${update} --dry-run`),
      '1 device would be created\n1 device would be changed, 1 as they were\n',
    )
    assert.equal(await succeed(shell, update), '1 device created\n1 device changed, 1 as they were\n')
    assert.match(await succeed(shell, `device get ${devEui(900_001)}`), /^name +second$/m)
    const nowhere = await shell('device export')
    assert.deepEqual([nowhere.code, nowhere.error], [2, 'fieldgate: Give --application or --organization.\n'])
  })
})
