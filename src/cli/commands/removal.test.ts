import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { endAfterEach } from '../serve/child-processes.testing.ts'
import { commandLine, json, succeed } from '../command-line.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-removal-'))
after(() => rm(scratch, { recursive: true }))
const children = endAfterEach()

const shell = commandLine(scratch)
const person = commandLine(scratch, true)
const devices = ['0101010101010101', '0101010101010102']

before(async () => {
  await succeed(shell, 'init')
  await succeed(shell, 'organization create alpine')
  await succeed(shell, 'organization create harbour')
  await succeed(shell, 'user create anna --organization alpine')
  await succeed(shell, 'application create water --organization alpine')
  for (const devEui of devices) await succeed(shell, `device create ${devEui} --application water --name meter`)
})

async function countOfDevices(): Promise<unknown> {
  return (await json(shell, 'device list'))['totalCount']
}

describe('a command that deletes', () => {
  it('wants --yes where there is no terminal, and changes nothing without', async () => {
    const lines = [
      'organization delete alpine',
      'application delete water',
      `device delete ${devices[0]}`,
      'user delete anna',
      'token revoke x',
      'service-credential delete 1',
      'network-server remove chirpstack',
    ]
    for (const line of lines) {
      const { code, out, error } = await shell(line, 'y\n')
      assert.deepEqual([line, code, out], [line, 2, ''])
      assert.match(error, /asks before it deletes, and there is no terminal to ask on\. Add --yes\./)
    }
    assert.equal(await countOfDevices(), '2')
    assert.match(await succeed(shell, 'user list'), /anna/)
  })

  it('says on a terminal what goes along, and goes on when the name is typed', async () => {
    const what = /^This deletes the application water \(id \d+\) with 2 devices\. .*\nType its name, water, to go on: /m
    for (const answer of ['y\n', 'Water\n', '']) {
      const { code, out, error } = await person('application delete water', answer)
      assert.deepEqual([code, out], [1, ''])
      assert.match(error, what)
      assert.match(error, /Nothing was changed/)
    }
    assert.equal(await countOfDevices(), '2')
    const { code, out, error } = await person('application delete water', 'water\n')
    assert.deepEqual([code, out], [0, out])
    assert.match(error, what)
    assert.match(out, /^Deleted the application water \(id \d+\) with 2 devices\.\n$/)
    assert.equal(await countOfDevices(), '0')
  })

  it('takes a y for what has nothing below it, and anything else for a no', async () => {
    await succeed(shell, 'application create gas --organization alpine')
    await succeed(shell, `device create ${devices[0]} --application gas --name meter`)
    for (const answer of ['\n', 'n\n', 'yesterday\n']) {
      const { code, error } = await person(`device delete ${devices[0]}`, answer)
      assert.equal(code, 1)
      assert.match(error, /^This deletes the device 0101010101010101 \(meter\)\.\nGo on\? \[y\/N\] /)
    }
    assert.equal((await person(`device delete ${devices[0]}`, 'Yes\n')).code, 0)
    assert.equal(await countOfDevices(), '0')
  })

  it('counts what an organization takes with it, and asks nothing with --yes', async () => {
    const asked = await person('organization delete alpine', 'no\n')
    assert.match(asked.error, /the organization alpine \(id \d+\) with 1 member, 1 application and 0 devices\./)
    const { code, out, error } = await person('organization delete harbour --yes --json')
    assert.deepEqual([code, error], [0, ''])
    const { id, ...removed } = JSON.parse(out) as Record<string, unknown>
    assert.match(String(id), /^\d+$/)
    assert.deepEqual(removed, { name: 'harbour', members: 0, applications: 0, devices: 0 })
    const refused = await shell('user delete admin --yes')
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.error, /the last active global admin must stay/)
  })

  it('asks on a real terminal, and reads what is typed there', async () => {
    const command = `${process.execPath} ${fileURLToPath(new URL('../../main.ts', import.meta.url))} organization delete alpine`
    const environment = { PATH: process.env['PATH'], FIELDGATE_DATA_DIR: scratch }
    // script(1) of util-linux: what it runs has a terminal for its three streams.
    const child = spawn('script', ['-qec', command, '/dev/null'], { env: environment })
    children.add(child)
    let shown = ''
    child.stdout.on('data', (chunk: Buffer) => {
      if (!shown.includes('to go on: ') && (shown + chunk.toString()).includes('to go on: '))
        child.stdin.write('alpine\n')
      shown += chunk.toString()
    })
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, 0, shown)
    assert.match(shown, /Deleted the organization alpine \(id \d+\) with 1 member, 1 application and 0 devices\./)
    assert.equal((await json(shell, 'organization list'))['totalCount'], '0')
  })
})

describe('a change', () => {
  it('says in one line what was done', async () => {
    await succeed(shell, 'organization create valley')
    const lines: readonly (readonly [string, string])[] = [
      ['organization update valley --display-name Valley', 'Changed the organization valley.\n'],
      ['organization add-member valley anna', 'anna is a member of valley now.\n'],
      ['organization update-member valley anna --admin', 'Changed the roles of anna in valley.\n'],
      ['organization remove-member valley anna', 'anna is no longer a member of valley.\n'],
      ['user update anna --note guest', 'Changed the user anna.\n'],
    ]
    for (const [line, said] of lines) assert.equal(await succeed(shell, line), said)
    await succeed(shell, 'application create heat --organization valley')
    assert.equal(await succeed(shell, 'application update heat --description warm'), 'Changed the application heat.\n')
    await succeed(shell, `device create ${devices[1]} --application heat`)
    assert.equal(await succeed(shell, `device update ${devices[1]} --name x`), `Changed the device ${devices[1]}.\n`)
  })

  it('tells a person on a terminal what was created, and a shell the id alone', async () => {
    assert.match(await succeed(shell, 'application create cold --organization valley'), /^\d+\n$/)
    const { out, error } = await person('application create warm --organization valley')
    assert.match(out, /^\d+\n$/)
    assert.equal(error, 'Created the application warm. Its id:\n')
  })
})
