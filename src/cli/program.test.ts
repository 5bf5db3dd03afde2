import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connectAsync } from 'mqtt'
import { Secret, TOTP } from 'otpauth'
import { checkSettings, readEnvironment } from '../settings/settings.ts'
import type { Settings } from '../settings/settings.ts'
import { registryFileIn } from '../data/data-directory.ts'
import { systemClock } from '../clock.ts'
import { openRegistry } from '../identity/registry.ts'
import type { Registry } from '../identity/registry.ts'
import { valueOf } from '../identity/registry.testing.ts'
import { createPinoLogger } from '../pino-logger.ts'
import { startService } from '../service/service.ts'
import type { Service } from '../service/service.ts'
import { runtime, version } from '../version.ts'
import { commandLine, json, succeed } from './command-line.testing.ts'
import type { Shell } from './command-line.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-cli-'))
after(() => rm(scratch, { recursive: true }))
const directory = (name: string): string => join(scratch, name)

/** Runs the steps of an administrator on a new deployment; the commands find the way to it. */
async function setUp(shell: Shell): Promise<void> {
  await succeed(shell, 'organization create alpine --display-name Alpine')
  await succeed(shell, 'organization create harbour')
  await succeed(shell, 'user create anna --organization alpine')
  await succeed(shell, 'application create water --organization alpine --codec CAYENNE_LPP')
  await succeed(shell, 'device create 0101010101010101 --application alpine/water --name meter --tag street=north')
}

function settingsOf(environment: Readonly<Record<string, string>>): Settings {
  const result = checkSettings(readEnvironment(environment))
  assert.ok(result.ok)
  return result.settings
}

describe('the command line', () => {
  const shell = commandLine(directory('nothing'))

  it('tells its version and its help on standard output', async () => {
    assert.deepEqual(await shell('--version'), { code: 0, out: `${version}\n`, error: '' })
    const help = await shell('user create --help')
    assert.equal(help.code, 0)
    assert.match(help.out, /--password-stdin/)
    assert.match(help.out, /Examples:/)
  })

  it('suggests the command that was meant', async () => {
    const { code, error } = await shell('aplication list')
    assert.equal(code, 2)
    assert.match(error, /Did you mean application\?/)
    assert.match((await shell('user creat anna')).error, /Did you mean create\?/)
    assert.match((await shell('device list --aplication x')).error, /Did you mean --application\?/)
  })

  it('shows the help of a command of two words, and says what is wrong with one that is none', async () => {
    const asked = await shell('help device create')
    assert.deepEqual(asked, await shell('device create --help'))
    assert.match(asked.out, /^Usage: fieldgate device create /)
    assert.match((await shell('help token revoke')).out, /^Usage: fieldgate token delete/)
    assert.match((await shell('help')).out, /^Usage: fieldgate \[/)
    assert.match((await shell('help serve')).out, /^Usage: fieldgate serve /)
    const nonsense = await shell('help nonsense')
    assert.deepEqual([nonsense.code, nonsense.out], [2, ''])
    assert.match(nonsense.error, /unknown command 'nonsense'/)
    assert.match((await shell('help device creat')).error, /unknown command 'creat'[^]*Did you mean create\?/)
  })

  it('lists the bare broker, and shows its options', async () => {
    assert.match((await shell('--help')).out, /^ {2}bare-broker /m)
    assert.match((await shell('bare-broker --help')).out, /--tls-port <number>/)
    const { code, error } = await shell('bare-broker --port x')
    assert.equal(code, 2)
    assert.match(error, /whole number from 0 to 65535/)
  })

  it('refuses a command without a deployment, says what to do, and makes none', async () => {
    const { code, error } = await shell('user list')
    assert.equal(code, 1)
    assert.match(error, /no Fieldgate data directory at .*nothing.*fieldgate init/)
    await assert.rejects(stat(join(scratch, 'nothing')))
  })

  it('prints its version: alone for programs, and with its runtime for people', async () => {
    assert.match((await shell('--version')).out, /^\d+\.\d+\.\d+\n$/)
    assert.equal((await shell('version')).out, `${version} on ${runtime}\n`)
    assert.match(runtime, process.versions.bun === undefined ? /^Node \d+\.\d+\.\d+$/ : /^Bun \d+\.\d+\.\d+$/)
  })

  it('reports all wrong settings at once', async () => {
    const { code, error } = await shell('user list', '', { FIELDGATE_HTTPS_PORT: 'x', FIELDGATE_LOG_LEVEL: 'y' })
    assert.equal(code, 2)
    assert.match(error, /FIELDGATE_HTTPS_PORT="x".*\n.*FIELDGATE_LOG_LEVEL="y"/)
  })

  it('shows the settings, secrets aside', async () => {
    const asked = await shell('settings --json', '', { FIELDGATE_ADMIN_PASSWORD: 'never to be shown' })
    const rows = JSON.parse(asked.out) as readonly { readonly name: string; readonly value: unknown }[]
    assert.equal(rows.find(({ name }) => name === 'FIELDGATE_ADMIN_PASSWORD')?.value, '(set)')
    assert.equal(rows.find(({ name }) => name === 'FIELDGATE_MQTTS_PORT')?.value, 8883)
    const { out } = await shell('settings', '', {
      FIELDGATE_ADMIN_PASSWORD: 'never to be shown',
      FIELDGATE_HOST: '::1',
    })
    assert.match(out, /^FIELDGATE_HOST +::1 +environment$/m)
    assert.match(out, /^FIELDGATE_ADMIN_PASSWORD +\(set\) +environment$/m)
    assert.doesNotMatch(out, /never to be shown/)
  })
})

describe('the command line where no service runs', () => {
  const shell = commandLine(directory('alone'))

  it('makes a deployment, shows the first admin’s password once, and changes nothing the next time', async () => {
    const first = await succeed(shell, 'init')
    assert.match(first, /log in as admin with the password \S{10,}\n[^]*ready\.\nClients must trust .*ca\.pem\n$/)
    const second = await succeed(shell, 'init')
    assert.doesNotMatch(second, /password/)
  })

  it('administers organizations, users, applications and devices', async () => {
    await setUp(shell)
    assert.match(
      await succeed(shell, 'organization list'),
      /^ID +NAME +DISPLAY NAME\n\d+ +alpine +Alpine\n\d+ +harbour +harbour\n$/,
    )
    assert.match(await succeed(shell, 'organization list-members alpine'), /anna +no +no/)
    assert.match(await succeed(shell, 'device list --application water'), /0101010101010101 +meter/)
    assert.match(await succeed(shell, 'device get 0101010101010101'), /tags +\{"street":"north"\}/)
    await succeed(shell, 'device update 0101010101010101 --disabled')
    assert.match(await succeed(shell, 'device list'), /meter +water +NEVER_HEARD +yes/)
    await succeed(shell, 'user update anna --note guest --no-active')
    const { user } = (await json(shell, 'user get anna')) as { user: Record<string, unknown> }
    assert.deepEqual([user['note'], user['isActive'], user['isAdmin']], ['guest', false, false])
    await succeed(shell, 'user update anna --active')
    await succeed(shell, 'organization update-member alpine anna --device-admin')
    await succeed(shell, 'organization update alpine --display-name Alps')
    await succeed(shell, 'application update water --description Meters')
    for (const [option, retains] of [
      ['--retain-last-events', true],
      ['--name water', true],
      ['--no-retain-last-events', false],
    ] as const) {
      await succeed(shell, `application update water ${option}`)
      const { application } = (await json(shell, 'application get water')) as { application: Record<string, unknown> }
      assert.equal(application['retainsLastEvents'], retains, option)
    }
    assert.match(await succeed(shell, 'application list --organization alpine'), /water +alpine +Meters/)
  })

  it('issues, lists and revokes tokens and service credentials', async () => {
    const token = await succeed(shell, 'token create --organization alpine --user anna --ttl 1h')
    assert.match(token, /^eyJ[\w.-]+\n$/)
    const { result } = (await json(shell, 'token list --organization alpine')) as { result: { id: string }[] }
    assert.equal(result.length, 1)
    assert.match(await succeed(shell, 'token list --organization alpine'), /^ID +USER +ISSUED .*\n\S+ +anna +20/)
    const { exp = 0, iat = 0 } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      readonly exp?: number
      readonly iat?: number
    }
    assert.equal(exp - iat, 3600)
    await succeed(shell, `token revoke ${result[0]?.id} --yes`)
    assert.equal((await json(shell, 'token list --organization alpine'))['totalCount'], '0')
    const limits = '--device 0101010101010101 --event up join --tag street=north --read-only --all-applications'
    await succeed(shell, `token create --organization alpine --user anna ${limits}`)
    const narrow = (await json(shell, 'token list --organization alpine')) as { result: { scope: unknown }[] }
    assert.deepEqual(narrow.result[0]?.scope, {
      devEuis: ['0101010101010101'],
      tags: { street: 'north' },
      eventKinds: ['up', 'join'],
      isReadOnly: true,
      reachesAllApplications: true,
    })
    const words =
      /devices 0101010101010101; tags street=north; events up join; read-only; all applications by one topic/
    assert.match(await succeed(shell, 'token list --organization alpine'), words)
    assert.match((await shell('token create --organization alpine --event down')).error, /eventKinds/)
    await succeed(shell, 'organization update-member alpine anna --read-only')
    assert.match(await succeed(shell, 'organization list-members alpine'), /anna .* yes\n/)
    await succeed(shell, 'organization update-member alpine anna --no-read-only')
    const credential = await json(shell, 'service-credential create chirpstack')
    assert.match(String(credential['userName']), /^network-server-/)
    assert.match(await succeed(shell, 'service-credential list'), /chirpstack/)
    await succeed(shell, `service-credential delete ${String(credential['id'])} --yes`)
  })

  it('makes webhooks, changes them, pauses and resumes them, and tells the secret once', async () => {
    const of = '--organization alpine'
    const created = await json(
      shell,
      `webhook create billing ${of} --url https://billing.example.org/ --application water --kind up --header X-Key=hidden`,
    )
    assert.match(String(created['secret']), /^whsec_/)
    await succeed(shell, `webhook update billing ${of} --concurrency 2 --batch-events 10`)
    const { webhook } = (await json(shell, `webhook get billing ${of}`)) as { webhook: Record<string, unknown> }
    assert.deepEqual([webhook['concurrency'], webhook['eventKinds'], webhook['headerNames']], [2, ['up'], ['x-key']])
    assert.match(await succeed(shell, `webhook list ${of}`), /billing +https:\/\/billing\.example\.org\//)
    await succeed(shell, `webhook pause billing ${of}`)
    assert.match(await succeed(shell, `webhook list ${of}`), /webhook_paused_by_person/)
    await succeed(shell, `webhook resume billing ${of} --from 2026-01-01T00:00:00Z`)
    assert.match(await succeed(shell, `webhook rotate-secret billing ${of} --overlap 60`), /whsec_/)
    assert.match((await shell(`webhook create other ${of} --url nowhere`)).error, /url: must be an address/)
    assert.match((await shell(`webhook pause other ${of}`)).error, /There is no webhook other\./)
    assert.equal(await succeed(shell, `webhook delete billing ${of} --yes`), 'Deleted the webhook billing.\n')
  })

  it('issues metrics tokens that are shown once, lists them and revokes them by name', async () => {
    assert.match(await succeed(shell, 'metrics-token create prometheus'), /^fgm_[\w-]{43}\n$/)
    const list = await succeed(shell, 'metrics-token list')
    assert.match(list, /^ID +NAME +CREATED +LAST USED\n\S+ +prometheus +20\S+\n$/)
    assert.match((await shell('metrics-token create prometheus')).error, /object already exists/)
    assert.equal(
      await succeed(shell, 'metrics-token revoke prometheus --yes'),
      'Revoked the metrics token prometheus.\n',
    )
    assert.match((await shell('metrics-token revoke prometheus --yes')).error, /There is no metrics token prometheus\./)
  })

  it('makes API keys that are shown once, lists them, rotates them, hands them over and revokes them', async () => {
    const at = '--organization alpine'
    const first = await succeed(
      shell,
      `api-key create lake ${at} --right events.read --right devices.read --expires 90d`,
    )
    assert.match(first, /^fg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}\n$/)
    assert.match(
      await succeed(shell, `api-key list ${at}`),
      /^ID +NAME +RIGHTS +ONLY +STATE +MAKER +EXPIRES +LAST USED\n\S{12} +lake +events.read devices.read +in_force +\S+ +20\S+\n$/,
    )
    const second = await succeed(shell, `api-key rotate lake ${at} --overlap 7d`)
    assert.equal(second.slice(0, 15), first.slice(0, 15))
    assert.notEqual(second, first)
    assert.match((await shell(`api-key rotate lake ${at} --overlap soon`)).error, /soon is no duration/)
    assert.match((await shell(`api-key create other ${at} --right everything`)).error, /apiKey.rights/)
    assert.match((await shell('api-key rotate lake')).error, /There is no API key lake\./)
    assert.match((await shell(`api-key hand-over lake anna ${at}`)).error, /must be an admin of the organization/)
    assert.equal(
      await succeed(shell, `api-key revoke ${first.slice(3, 15)} ${at} --yes`),
      `Revoked the API key ${first.slice(3, 15)}.\n`,
    )
    const tagged = await json(shell, `api-key create north ${at} --right events.read --tag site=north`)
    assert.deepEqual(Object.keys(tagged), ['id', 'key'])
    assert.match(await succeed(shell, 'api-key create scraper --right metrics.read'), /^fg_/)
  })

  it('signs with a new key, whose tokens it prints from then on', async () => {
    const kid = (await succeed(shell, 'keys rotate')).trim()
    const token = await succeed(shell, 'token create --organization alpine --user anna --ttl 60')
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
    assert.equal(header.kid, kid)
    assert.notEqual((await json(shell, 'keys rotate'))['kid'], kid)
  })

  it('checks the data directory, and tells programs what is in it', async () => {
    const { registry, messages, problems, isLossy } = await json(shell, 'check')
    assert.deepEqual([problems, isLossy], [[], false])
    assert.deepEqual(registry, { organizations: 2, users: 2, devices: 1 })
    assert.equal((messages as { messages: number }).messages, 0)
    assert.match(await succeed(shell, 'check'), /^registry {2}2 organizations, 2 users, 1 device\n/)
  })

  it('sets a password from standard input, so that no argument shows it', async () => {
    await succeed(shell, 'user set-password anna --password-stdin', 'another-long-password\n')
    assert.equal((await shell('user set-password anna another-long-password')).code, 2)
  })

  it('sets the password of the admin without the old one, and says what becomes of the second factor', async () => {
    const file = registryFileIn(join(scratch, 'alone'))
    const withRegistry = async <Result>(use: (registry: Registry) => Promise<Result>): Promise<Result> => {
      const registry = await openRegistry({ file, clock: systemClock })
      try {
        return await use(registry)
      } finally {
        await registry.close()
      }
    }
    assert.equal(
      await succeed(shell, 'user set-password admin'),
      'The password of admin is set; the sessions of admin have ended.\n',
    )
    await withRegistry(async ({ users, secondFactor }) => {
      const { id = '' } = (await users.getByEmail('admin')) ?? {}
      const { secret } = valueOf(await secondFactor.configure(id, 0, { userId: id }))
      const otp = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
      valueOf(await secondFactor.enable(id, otp, { userId: id }))
    })
    const logIn = () =>
      withRegistry(async ({ passwords }) =>
        valueOf(await passwords.authenticate({ userName: 'admin', password: 'the newest password', address: '' })),
      )
    const kept = await succeed(shell, 'user set-password admin --password-stdin', 'the newest password\n')
    assert.match(kept, /still needs a one-time code.*--remove-second-factor/)
    assert.equal((await logIn()).secondFactor, true)
    const line = 'user set-password admin --password-stdin --remove-second-factor'
    assert.match(await succeed(shell, line, 'the newest password\n'), /The second factor of admin is removed\.\n$/)
    assert.equal((await logIn()).secondFactor, false)
  })

  it('lists what was done, with the operator of the machine as who did it', async () => {
    const out = await succeed(shell, 'audit-log list --search token.issued --organization alpine')
    assert.match(
      out,
      /^AT +BY +ACTION +SUBJECT +ORGANIZATION\n20\S+ +the operator of this machine +token\.issued +\S+ +alpine\n/,
    )
    const { result } = (await json(shell, 'audit-log list --search organization.created')) as {
      result: readonly { readonly actor: string; readonly actorUserID: string }[]
    }
    assert.deepEqual([result[0]?.actor, result[0]?.actorUserID], ['operator', ''])
    assert.match(await succeed(shell, 'audit-log list --search user.created'), / the service +user\.created +1\n$/)
  })

  it('tells refusals in the service’s words, with exit code 1', async () => {
    assert.deepEqual(await shell('organization create alpine'), {
      code: 1,
      out: '',
      error: 'fieldgate: refused: object already exists\n',
    })
    assert.match((await shell('application get desert')).error, /There is no application desert\./)
    assert.match((await shell('token create --organization alpine --ttl -5')).error, /ttl/i)
    assert.match((await shell('token create --organization alpine --user nobody')).error, /There is no user nobody\./)
    await succeed(shell, 'user create hanna --organization harbour')
    const foreign = await shell('token create --organization alpine --user hanna')
    assert.equal(foreign.code, 1)
    assert.match(
      foreign.error,
      /hanna is no member of alpine\. Add it: fieldgate organization add-member alpine hanna\n/,
    )
  })

  it('gives an application the id that its network server has for it, and finds it by that', async () => {
    const id = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
    assert.equal(await succeed(shell, `application create gas --organization alpine --id ${id}`), `${id}\n`)
    assert.match(await succeed(shell, `application get ${id}`), /gas/)
  })

  it('names the applications that share a name', async () => {
    await succeed(shell, 'application create water --organization harbour')
    assert.match(
      (await shell('application get water')).error,
      /several applications named water: give one of the ids \d+, \d+/,
    )
    await succeed(shell, 'application get harbour/water')
  })

  it('imports devices from CSV and from JSON lines, and names refused rows by their lines', async () => {
    const file = join(scratch, 'meters.csv')
    const rows = ['devEUI,name,tag:street', '0202020202020201,a,north', '', 'nonsense,b,', '0202020202020202,c,south']
    await writeFile(file, rows.join('\n'))
    const dry = await shell(`import ${file} --application alpine/water --dry-run`)
    assert.equal(dry.code, 1)
    assert.match(dry.out, /2 devices would be created/)
    assert.match(dry.error, /^line 4 nonsense: devEUI: must be 16 hexadecimal digits$/m)
    assert.match(dry.error, /1 of 3 rows refused/)
    assert.equal((await json(shell, 'device list'))['totalCount'], '1')
    const real = await shell(`import ${file} --application alpine/water --json`)
    const { created, errors } = JSON.parse(real.out) as { created: number; errors: { line: number }[] }
    assert.deepEqual([created, errors[0]?.line], [2, 4])
    const line = '{"devEUI":"0303030303030303","name":"x","tags":{"a":"b"}}\n'
    assert.equal(await succeed(shell, 'import - --format jsonl --application alpine/water', line), '1 device created\n')
    assert.equal((await json(shell, 'device list'))['totalCount'], '4')
    assert.match((await shell('import meters.txt')).error, /--format csv or --format jsonl/)
    assert.match((await shell('import missing.csv')).error, /missing\.csv can’t be read: there is no such file\.\n/)
    assert.match((await shell(`import ${scratch} --format csv`)).error, /can’t be read: it is a directory\.\n/)
    const script = await shell('application update water --decoder-file nowhere.js')
    assert.match(script.error, /^fieldgate: The file nowhere\.js can’t be read: there is no such file\.\n$/)
  })

  it('says that only a running service knows the commands of a device', async () => {
    assert.match((await shell('device queue 0303030303030303')).error, /Only a running service.*fieldgate serve/)
    assert.match((await shell('device history 0303030303030303')).error, /Only a running service knows the stored/)
  })
})

describe('the command line where a service runs', () => {
  const shell = commandLine(directory('running'))
  let service: Service

  before(async () => {
    const settings = settingsOf({
      FIELDGATE_DATA_DIR: join(scratch, 'running'),
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_PUBLIC_HOST: 'broker.example',
      FIELDGATE_HTTPS_PORT: '0',
      FIELDGATE_MQTTS_PORT: '0',
    })
    service = await startService(settings, { log: createPinoLogger({ level: 'fatal', format: 'text' }) })
  })
  after(() => service.close())

  it('goes through it, so that it knows at once', async () => {
    await setUp(shell)
    assert.equal((await service.registry.users.getByEmail('anna'))?.isActive, true)
    assert.equal((await service.registry.devices.get('0101010101010101'))?.name, 'meter')
  })

  it('sets the password of the admin without the old one, and ends its sessions', async () => {
    const { tokens, users } = service.registry
    const { id = '' } = (await users.getByEmail('admin')) ?? {}
    const session = await tokens.issueSession({ id })
    assert.ok((await tokens.verifySession(session)).ok)
    await succeed(shell, 'user set-password admin')
    assert.ok(!(await tokens.verifySession(session)).ok)
    const attempt = { userName: 'admin', password: 'long-enough-password', address: '' }
    assert.ok((await service.registry.passwords.authenticate(attempt)).ok)
  })

  it('lists the commands of a device, and for what each of them waits', async () => {
    const devEui = '0101010101010101'
    const { device } = (await json(shell, `device get ${devEui}`)) as { device: { applicationID: string } }
    const client = await connectAsync(`mqtts://127.0.0.1:${service.addresses.mqtts.port}`, {
      username: (await succeed(shell, 'token create --organization alpine --user anna')).trim(),
      password: 'default',
      ca: await readFile(service.caFile ?? ''),
    })
    const topicName = `application/${device.applicationID}/device/${devEui}/command/down`
    const command = { confirmed: false, fPort: 10, data: 'AQID', id: 'valve-7' }
    await client.publishAsync(topicName, JSON.stringify(command), { qos: 1 })
    await client.endAsync()
    const waits = /^valve-7 +queued +10 +AQID +\S+ +the deployment’s network server has not connected yet$/m
    // The command is offered to the network server in the turn after its acknowledgement.
    for (let tries = 0; tries < 50 && !waits.test(await succeed(shell, `device queue ${devEui}`)); tries += 1);
    assert.match(await succeed(shell, `device queue ${devEui}`), waits)
    assert.match((await shell('device queue 0f0f0f0f0f0f0f0f')).error, /object does not exist/)
  })

  it('shows the history of a device as a table, as CSV and as JSON', async () => {
    const devEui = '0101010101010101'
    const { device } = (await json(shell, `device get ${devEui}`)) as { device: { applicationID: string } }
    const credential = await json(shell, 'service-credential create sender')
    const client = await connectAsync(`mqtts://127.0.0.1:${service.addresses.mqtts.port}`, {
      username: String(credential['userName']),
      password: String(credential['password']),
      ca: await readFile(service.caFile ?? ''),
    })
    for (const [fCnt, temperature] of [1, 2, 9].entries()) {
      const object = { temperature, 'a,b': 5 }
      const rxInfo = [{ rssi: -80 - fCnt, loRaSNR: 4 }]
      const event = { fCnt: 2 * fCnt, object, rxInfo, txInfo: { frequency: 868_100_000, dr: 5 } }
      const topicName = `application/${device.applicationID}/device/${devEui}/event/up`
      await client.publishAsync(topicName, JSON.stringify(event), { qos: 1 })
    }
    await client.endAsync()
    const history = `device history ${devEui} --last 1h --bucket 1w`
    const table = await succeed(shell, history)
    assert.match(
      table,
      /^TIME +UPLINKS +LOST +RSSI +SNR +SF +BATTERY +a,b +temperature\n\S+ +3 +2 +-81 +4 +7:3 +5 +1 \/ 2 \/ 9\n$/,
    )
    const [head = '', row = ''] = (await succeed(shell, `${history} --csv --values temperature`)).split('\n')
    const cells = new Map(head.split(',').map((title, at) => [title, row.split(',')[at]]))
    const wanted = ['uplinks', 'lost', 'sf7', 'rssi min', 'temperature median', 'temperature max', 'battery count']
    assert.deepEqual(
      wanted.map((title) => cells.get(title)),
      ['3', '2', '3', '-82', '2', '9', ''],
    )
    assert.match(await succeed(shell, `${history} --csv`), /"a,b min","a,b median"/)
    assert.equal((await json(shell, history))['bucketSeconds'], 604_800)
    assert.match((await shell('device history 0f0f0f0f0f0f0f0f')).error, /object does not exist/)
    assert.match((await shell(`${history} --from 2026-01-01T00:00:00Z`)).error, /either --last, or --from and --to/)
    assert.match((await shell(`device history ${devEui} --last soon`)).error, /--last must be a duration/)
    assert.match((await shell(`device history ${devEui} --bucket soon`)).error, /bucket: must be a duration/)
    await succeed(shell, `service-credential delete ${String(credential['id'])} --yes`)
  })

  it('ends what a live connection may no longer do', async () => {
    const username = (await succeed(shell, 'token create --organization alpine --user anna')).trim()
    const client = await connectAsync(`mqtts://127.0.0.1:${service.addresses.mqtts.port}`, {
      protocolVersion: 5,
      username,
      password: 'default',
      reconnectPeriod: 0,
      ca: await readFile(service.caFile ?? ''),
    })
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    client.on('close', resolve)
    await succeed(shell, 'organization remove-member alpine anna')
    await closed
    await client.endAsync(true)
  })

  it('refuses to start a second service on its directory, and says who has it and where', async () => {
    const { code, error } = await shell('serve')
    assert.equal(code, 1)
    assert.match(error, new RegExp(`in use by process ${process.pid} .*which answers at https://127\\.0\\.0\\.1:\\d+`))
  })
})
