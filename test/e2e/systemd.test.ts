/**
 * The service as a unit of systemd: its messages to the supervisor, and systemd's judgement of the
 * unit file.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Program, runProgram } from '../support/program.ts'
import { FIELDGATE, makeFolder } from '../support/running-service.ts'

const UNIT = fileURLToPath(new URL('../../deploy/systemd/fieldgate.service', import.meta.url))
const USERS = fileURLToPath(new URL('../../deploy/systemd/fieldgate.sysusers.conf', import.meta.url))

/**
 * Prints each datagram of a Unix socket as a line. When it ends, the descriptors that came with the
 * datagram are closed, as by systemd.
 */
const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('listening', flush=True)
while True: print(receiver.recv(4096).decode().replace('\\n', ' '), flush=True)
`

const missing = (program: string) =>
  spawnSync('which', [program]).status === 0 ? false : `${program} is not installed, so this is not tested here`

let folder: string
before(async () => {
  folder = await makeFolder()
})
after(() => rm(folder, { recursive: true, force: true }))

function serve(environment: Readonly<Record<string, string>>): Program {
  return new Program(process.execPath, [FIELDGATE, 'serve'], {
    environment: {
      FIELDGATE_DATA_DIR: join(folder, 'data'),
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_HTTPS_PORT: '0',
      FIELDGATE_MQTTS_PORT: '0',
      ...environment,
    },
  })
}

describe('a service that a supervisor started', () => {
  it(
    'tells it that it is ready, alive and stopping',
    { skip: missing('systemd-notify') || missing('python3') },
    async () => {
      const socket = join(folder, 'notify')
      await using receiver = new Program('python3', ['-c', RECEIVER, socket])
      await receiver.output(/listening/)
      await using service = serve({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' })
      await receiver.output(/^READY=1/m, 30_000)
      // The message to systemd comes after the service listens; the log is written in the
      // background.
      await service.complaint(/"service\.started"/)
      await receiver.output(/^WATCHDOG=1/m)
      service.signal('SIGTERM')
      const { code, stderr } = await service.ended(20_000)
      assert.equal(code, 0)
      assert.match(receiver.stdout, /^READY=1[^]*^STOPPING=1/m)
      assert.doesNotMatch(stderr, /supervisor\.not_told/)
    },
  )

  it('goes on where the supervisor can’t be told, and logs that', async () => {
    await using service = serve({ NOTIFY_SOCKET: join(folder, 'nobody'), PATH: join(folder, 'empty') })
    await service.complaint(/"supervisor\.not_told"/, 30_000)
    service.signal('SIGTERM')
    assert.equal((await service.ended(20_000)).code, 0)
  })
})

/**
 * Writes the unit with the command of this checkout, because systemd checks that the program
 * exists.
 */
async function writeUnit(): Promise<string> {
  await mkdir(join(folder, 'units'), { recursive: true })
  const file = join(folder, 'units', 'fieldgate.service')
  const text = await readFile(UNIT, 'utf8')
  assert.match(text, /^ExecStart=\/usr\/local\/bin\/fieldgate serve$/m)
  await writeFile(file, text.replace('/usr/local/bin/fieldgate', FIELDGATE))
  return file
}

describe('the unit of systemd', () => {
  const skip = missing('systemd-analyze')

  it('has nothing that systemd does not understand', { skip }, async () => {
    const { code, stderr, stdout } = await runProgram('systemd-analyze', ['verify', '--man=no', await writeUnit()], {
      ms: 60_000,
    })
    assert.equal(code, 0, stderr)
    assert.equal(stderr + stdout, '')
  })

  it('leaves the service few rights', { skip }, async () => {
    // The scale ends at 100. systemd calls up to 19 "OK"; an ordinary service has 96.
    const args = ['security', '--offline=true', '--threshold=19', '--no-pager', await writeUnit()]
    const { code, stdout, stderr } = await runProgram('systemd-analyze', args, { ms: 60_000 })
    assert.equal(code, 0, stdout + stderr)
  })

  it('names a user that systemd makes', { skip: missing('systemd-sysusers') }, async () => {
    const root = join(folder, 'root')
    await mkdir(join(root, 'etc'), { recursive: true })
    const made = await runProgram('systemd-sysusers', [`--root=${root}`, USERS], { ms: 60_000 })
    assert.equal(made.code, 0, made.stderr)
    assert.match(await readFile(join(root, 'etc', 'passwd'), 'utf8'), /^fieldgate:.*:\/var\/lib\/fieldgate:/m)
  })
})
