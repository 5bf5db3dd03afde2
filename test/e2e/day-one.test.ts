/**
 * The first day of an operator, step by step on the command line: from an empty directory to a
 * restored backup, and an upgrade.
 */
import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Authority } from '../support/authority.ts'
import { freePort } from '../support/free-port.ts'
import { outputOf, Program, runProgram } from '../support/program.ts'
import { FIELDGATE, makeFolder } from '../support/running-service.ts'

const DEV_EUI = '0102030405060708'
/** The arguments of mosquitto_sub to end with the first message, or fail after 20 s. */
const ONE_MESSAGE = ['-C', '1', '-W', '20']
const RECORDED = fileURLToPath(new URL('../recordings/data-directory/2026-11-21.tgz', import.meta.url))

/** An operator's shell; its environment has the settings of the deployment. */
class Operator {
  readonly environment: Readonly<Record<string, string>>
  readonly httpsPort: number
  readonly mqttsPort: number

  constructor(
    httpsPort: number,
    mqttsPort: number,
    dataDirectory: string,
    more: Readonly<Record<string, string>> = {},
  ) {
    this.httpsPort = httpsPort
    this.mqttsPort = mqttsPort
    this.environment = {
      FIELDGATE_DATA_DIR: dataDirectory,
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_PUBLIC_HOST: 'localhost',
      FIELDGATE_HTTPS_PORT: String(httpsPort),
      FIELDGATE_MQTTS_PORT: String(mqttsPort),
      ...more,
    }
  }

  serve(): Program {
    return new Program(process.execPath, [FIELDGATE, 'serve'], { environment: this.environment })
  }

  /** The standard output of a command that must succeed. */
  async run(line: string, input = ''): Promise<string> {
    const ran = await runProgram(process.execPath, [FIELDGATE, ...line.split(' ')], {
      environment: this.environment,
      input,
    })
    assert.equal(ran.code, 0, `${line}: ${ran.stdout}${ran.stderr}`)
    return ran.stdout.trim()
  }

  /** The JSON answer to one request of curl. */
  async curl(ca: string, path: string, session?: string, body?: object): Promise<Record<string, unknown>> {
    const args = ['-sS', '--fail-with-body', '--cacert', ca]
    if (session !== undefined) args.push('-H', `Authorization: Bearer ${session}`)
    if (body !== undefined) args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(body))
    const answer = await outputOf('curl', [...args, `https://localhost:${this.httpsPort}${path}`])
    return JSON.parse(answer) as Record<string, unknown>
  }

  async logIn(ca: string, username: string, password: string): Promise<string> {
    const { jwt } = await this.curl(ca, '/api/internal/login', undefined, { username, password })
    return String(jwt)
  }

  /** The arguments of a mosquitto client. */
  mqtt(ca: string, username: string, password: string): string[] {
    return ['-h', 'localhost', '-p', String(this.mqttsPort), '--cafile', ca, '-q', '1', '-u', username, '-P', password]
  }
}

async function isStarted(program: Program): Promise<void> {
  await program.output(/API reference +https:/, 30_000)
}

/** Ends the program in order by SIGTERM; its ports are free after that. */
async function stop(program: Program): Promise<void> {
  program.signal('SIGTERM')
  const { code, stderr } = await program.ended(15_000)
  assert.equal(code, 0, stderr)
  assert.match(stderr, /service\.stopped/)
}

/** The frame counters of the stored uplinks, the oldest first. */
async function frameCounters(operator: Operator, ca: string, session: string): Promise<number[]> {
  const { result } = await operator.curl(ca, '/api/applications/1/events?limit=100', session)
  return (result as { readonly kind: string; readonly event: { readonly fCnt: number } }[])
    .filter(({ kind }) => kind === 'up')
    .map(({ event }) => event.fCnt)
    .toReversed()
}

let folder: string
let httpsPort: number
let mqttsPort: number

before(async () => {
  folder = await makeFolder()
  httpsPort = await freePort()
  mqttsPort = await freePort()
})

after(async () => {
  await rm(folder, { recursive: true })
})

describe('the first day', () => {
  it('leads from an empty directory through a lost password to a device, a command and a restored backup', async () => {
    const data = join(folder, 'data')
    const made = join(data, 'tls', 'ca.pem')
    const operator = new Operator(httpsPort, mqttsPort, data)

    // A port is busy: the start names it, and leaves no file that stops the next start.
    const other = createServer().listen(mqttsPort, '127.0.0.1')
    await once(other, 'listening')
    await using early = operator.serve()
    const refused = await early.ended(30_000)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, new RegExp(`${mqttsPort}`))
    assert.doesNotMatch(refused.stdout, /password/)
    other.close()
    await once(other, 'close')

    // The first start that listens prints the password, and the password works.
    await using first = operator.serve()
    const [, password = ''] = await first.output(/log in as admin with the password (\S+)/, 30_000)
    await isStarted(first)
    await operator.logIn(made, 'admin', password)

    // The password is lost. The machine's operator sets another one while the service runs.
    await operator.run('user set-password admin --password-stdin', 'found again on day one\n')
    await operator.logIn(made, 'admin', 'found again on day one')
    await assert.rejects(operator.logIn(made, 'admin', password), /401|invalid/)
    await stop(first)

    // A certificate from the operator's own authority.
    const authority = await Authority.create(folder)
    await authority.issue()
    const ca = authority.caFile
    const certificate = { FIELDGATE_TLS_CERT_FILE: authority.certFile, FIELDGATE_TLS_KEY_FILE: authority.keyFile }
    const secured = new Operator(httpsPort, mqttsPort, data, certificate)
    await using second = secured.serve()
    await isStarted(second)
    assert.doesNotMatch(second.stdout, /password/)

    // An organization, an application, a device, a network server and a user are made.
    await secured.run('organization create acme --display-name Acme')
    await secured.run('application create meters --organization acme')
    await secured.run('import - --format csv --application meters', `devEUI,name\n${DEV_EUI},meter 1\n`)
    const credential = JSON.parse(await secured.run('service-credential create chirpstack --json')) as {
      readonly userName: string
      readonly password: string
    }
    await secured.run('user create anna --organization acme --password-stdin', 'anna on her first day\n')
    const token = await secured.run('token create --organization acme --user anna')

    // An event and a command are published while their receivers, which have subscribed, are away.
    const reader = secured.mqtt(ca, token, 'default')
    const networkServer = secured.mqtt(ca, credential.userName, credential.password)
    const events = ['-i', 'reader', '-c', '-t', 'application/1/device/+/event/+']
    const commands = ['-i', 'chirpstack', '-c', '-t', 'application/+/device/+/command/down']
    await outputOf('mosquitto_sub', [...reader, ...events, '-E'])
    await outputOf('mosquitto_sub', [...networkServer, ...commands, '-E'])
    const event = `application/1/device/${DEV_EUI}/event/up`
    await outputOf('mosquitto_pub', [...networkServer, '-t', event, '-m', uplink(1)])
    assert.match(await outputOf('mosquitto_sub', [...reader, ...events, ...ONE_MESSAGE]), /"fCnt":1\b/)
    const command = [
      '-t',
      `application/1/device/${DEV_EUI}/command/down`,
      '-m',
      '{"confirmed":true,"fPort":8,"data":"AQID"}',
    ]
    await outputOf('mosquitto_pub', ['-V', 'mqttv5', ...reader, ...command])
    assert.match(await outputOf('mosquitto_sub', [...networkServer, ...commands, ...ONE_MESSAGE]), /"data":"AQID"/)

    // A backup of the running service; later changes are not in it.
    const backup = join(folder, 'monday.backup')
    await secured.run(`backup ${backup}`)
    await outputOf('mosquitto_pub', [...networkServer, '-t', event, '-m', uplink(2)])
    await stop(second)

    const restored = new Operator(httpsPort, mqttsPort, join(folder, 'restored'), certificate)
    await restored.run(`restore ${backup}`)
    await using third = restored.serve()
    await isStarted(third)
    const session = await restored.logIn(ca, 'anna', 'anna on her first day')
    assert.deepEqual(await frameCounters(restored, ca, session), [1])
    await outputOf('mosquitto_pub', [...networkServer, '-t', event, '-m', uplink(3)])
    assert.deepEqual(await frameCounters(restored, ca, session), [1, 3])
    await stop(third)
  })
})

describe('an upgrade', () => {
  it('takes over the data directory of the previous version with its users, events and commands', async () => {
    const data = join(folder, 'upgraded')
    await mkdir(data)
    await outputOf('tar', ['xzf', RECORDED, '-C', data, '--strip-components=1'])
    // The recorded events grow old, so the retention is ten years.
    const operator = new Operator(httpsPort, mqttsPort, data, { FIELDGATE_RETENTION_DAYS: '3650' })
    const ca = join(data, 'tls', 'ca.pem')
    await using service = operator.serve()
    await isStarted(service)
    assert.doesNotMatch(service.stdout, /password/)
    const session = await operator.logIn(ca, 'anna', 'anna of the valleys')
    await operator.logIn(ca, 'admin', 'admin of all the valleys')
    assert.deepEqual(await frameCounters(operator, ca, session), [1, 2, 3, 4, 5])
    const queue = await operator.curl(ca, `/api/devices/${DEV_EUI}/queue`, session)
    assert.match(JSON.stringify(queue), /"id":"old-1"/)
    await stop(service)
    assert.match(await operator.run('check'), /^all is well$/m)
  })
})

function uplink(fCnt: number): string {
  return JSON.stringify({ applicationID: '1', devEUI: DEV_EUI, fCnt, fPort: 2, data: 'AQI=', tags: {} })
}
