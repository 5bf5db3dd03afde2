/**
 * `fieldgate renew-token` beside a real service: its file holds a token with which clients connect.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { run } from '../../src/cli/program.ts'
import { Administration, PASSWORD } from '../support/administration.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let service: RunningService
let folder: string
let organizationId: string
let userName: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-renew-token-'))
  service = await startInProcess()
  const administration = new Administration(service)
  organizationId = await administration.organization()
  userName = (await administration.person([{ organizationId }])).userName
})

after(async () => {
  await service?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function renew(args: readonly string[], environment: Readonly<Record<string, string>>) {
  let error = ''
  const common = ['--server', service.https, '--ca', service.caFile, '--organization', organizationId, '--once']
  const code = await run(['renew-token', ...common, ...args], {
    out: () => undefined,
    error: (text) => {
      error += text
    },
    input: Readable.from([]),
    isInteractive: false,
    environment,
  })
  return { code, error }
}

test('a template gets the token in the place of its word, and a command runs after that', async () => {
  const template = join(folder, 'telegraf.conf.in')
  const to = join(folder, 'telegraf.conf')
  const ran = join(folder, 'ran')
  await writeFile(template, 'username = "FIELDGATE_TOKEN"\n')
  const options = ['--user', userName, '--ttl', '10m', '--template', template, '--to', to, '--run', `cp ${to} ${ran}`]
  const { code, error } = await renew(options, { FIELDGATE_PASSWORD: PASSWORD })
  assert.equal(code, 0, error)
  const token = /^username = "(\S+)"\n$/.exec(await readFile(to, 'utf8'))?.[1] ?? ''
  assert.equal(await readFile(ran, 'utf8'), await readFile(to, 'utf8'))
  const client = await connectAsync(`mqtts://localhost:${service.mqttsPort}`, {
    ca: service.ca,
    username: token,
    password: 'default',
    reconnectPeriod: 0,
  })
  await client.endAsync()
})

for (const [title, args, environment, code, sentence] of [
  ['a wrong password', ['--user', 'anna'], { FIELDGATE_PASSWORD: 'not this one' }, 1, /refused/],
  ['no API key', [], {}, 2, /Set FIELDGATE_API_KEY/],
  ['an unknown API key', [], { FIELDGATE_API_KEY: 'fg_unknown' }, 1, /refused/],
  ['an address without TLS', ['--server', 'http://localhost'], {}, 2, /must be an https address/],
  ['a process that is no number', ['--signal', 'telegraf'], {}, 2, /the id of a process/],
] as const) {
  test(`${title} ends the command at once, and writes no file`, async () => {
    const to = join(folder, 'none')
    const ended = await renew(['--to', to, ...args], environment)
    assert.equal(ended.code, code, ended.error)
    assert.match(ended.error, sentence)
    await assert.rejects(readFile(to), /ENOENT/)
  })
}
