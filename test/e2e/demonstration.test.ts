/**
 * `fieldgate demo` as a user sees it: its printed lines are pasted into a shell unchanged, and
 * work.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { outputOf, Program } from '../support/program.ts'
import { FIELDGATE, makeFolder } from '../support/running-service.ts'

/**
 * A device of class A hears a command after its own uplink; each device of the demonstration sends
 * one within this time.
 */
const LONGEST_UPLINK_MS = 60_000
/** The time from the keyboard's signal to the end of the process. */
const LONGEST_STOP_MS = 10_000

let folder: string

before(async () => {
  folder = await makeFolder()
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
})

function startDemonstration(): Program {
  return new Program(process.execPath, [FIELDGATE, 'demo'], {
    environment: {
      HOME: folder,
      // A pasted path must be quoted for the shell.
      FIELDGATE_DATA_DIR: join(folder, "somebody's own data"),
      FIELDGATE_HTTPS_PORT: '0',
      FIELDGATE_MQTTS_PORT: '0',
    },
  })
}

/** The line of the greeting that begins with this command. */
async function printedLine(program: Program, command: string): Promise<string> {
  const [line] = await program.output(new RegExp(`^${command} .*$(?=[^]*^$)`, 'm'), LONGEST_UPLINK_MS)
  return line
}

/**
 * Runs a pasted line. Its output comes line by line although it goes to a pipe, and a signal
 * reaches the program, not the shell.
 */
function paste(line: string): Program {
  return new Program('stdbuf', ['-oL', 'sh', '-c', `exec ${line}`])
}

it('prints lines that log in, watch events and send a command that txack and ack answer; Ctrl-C ends it', async () => {
  await using program = startDemonstration()
  const login: unknown = JSON.parse(await outputOf('sh', ['-c', await printedLine(program, 'curl')]))
  assert.ok(typeof login === 'object' && login !== null && 'jwt' in login && 'is2faRequired' in login)
  assert.equal(login.is2faRequired, false)
  for (const words of [
    /API reference +https:\/\/localhost:\d+\/api\/docs/,
    /Log in as +anna/,
    /CA certificate +\/.+\.pem/,
  ]) {
    assert.match(program.stdout, words)
  }

  await using watching = paste(await printedLine(program, 'mosquitto_sub'))
  const pasted = await printedLine(program, 'mosquitto_pub')
  const [, device = ''] = /application\/\d+\/device\/([0-9a-f]{16})\/command\/down/.exec(pasted) ?? []
  const [, topic = '', payload = ''] = await watching.output(/^(application\/\S+) (\{.*\})$/m, LONGEST_UPLINK_MS)
  assert.match(topic, /^application\/\d+\/device\/[0-9a-f]{16}\/event\/(up|join|ack|error|status|location|txack)$/)
  const event = JSON.parse(payload) as { readonly devEUI: string; readonly applicationID: string }
  assert.equal(topic.split('/')[3], event.devEUI)
  assert.equal(topic.split('/')[1], event.applicationID)

  const answered = ['txack', 'ack'].map((kind) =>
    watching.output(new RegExp(`^application/\\S+/device/${device}/event/${kind} `, 'm'), LONGEST_UPLINK_MS),
  )
  assert.equal(await outputOf('sh', ['-c', pasted]), '')
  await Promise.all(answered)

  program.signal('SIGINT')
  const { code, stderr } = await program.ended(LONGEST_STOP_MS)
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stderr, /eyJ|ERROR|FATAL/)
})

it('starts again with what it has: the same organization, devices and CA', async () => {
  await using program = startDemonstration()
  await printedLine(program, 'mosquitto_pub')
  const [, caFile = ''] = await program.output(/CA certificate +(\/.+\.pem)/)
  assert.ok(caFile.startsWith(join(folder, "somebody's own data")))
  const login = JSON.parse(await outputOf('sh', ['-c', await printedLine(program, 'curl')])) as { readonly jwt: string }
  const [, https = ''] = await program.output(/API reference +(https:\S+)\/api\/docs/)
  const args = ['-sS', '--cacert', caFile, '-H', `Grpc-Metadata-Authorization: Bearer ${login.jwt}`]
  const list = JSON.parse(await outputOf('curl', [...args, `${https}/api/organizations?limit=999&offset=0`])) as {
    readonly totalCount: string
  }
  assert.equal(list.totalCount, '1')
  await using watching = paste(await printedLine(program, 'mosquitto_sub'))
  await watching.output(/^application\/\S+ \{.*\}$/m, LONGEST_UPLINK_MS)
  program.signal('SIGINT')
  assert.equal((await program.ended(LONGEST_STOP_MS)).code, 0)
})
