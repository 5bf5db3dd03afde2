/**
 * `fieldgate backup`, `restore` and `check` on real deployments: messages acknowledged before the
 * backup are there after the restore.
 */
import assert from 'node:assert/strict'
import { mkdir, open, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { fieldgate, fieldgateWith } from '../support/command-line.ts'
import { makeFolder, startAsProcess, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import { CrashPublisher, CrashSubscriber, messageKey } from '../crash/crash-clients.ts'
import { readHistory } from '../crash/crash-history.ts'

const EVENTS = 300
const LASTING = { clean: false, properties: { sessionExpiryInterval: 3600 } }
const NAMED_COMMAND = '00000000-0000-4000-8000-000000000007'

let folder: string

before(async () => {
  folder = await makeFolder()
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
})

interface Place {
  readonly organizationId: string
  readonly applicationId: string
  readonly devEui: string
  readonly otherDevEui: string
  readonly person: Person
  readonly token: string
  readonly networkServer: ServiceCredential
}

async function furnish(service: RunningService): Promise<Place> {
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const person = await administration.person([{ organizationId }])
  return {
    organizationId,
    applicationId,
    devEui: await administration.device(applicationId),
    otherDevEui: await administration.device(applicationId),
    person,
    token: await administration.brokerToken(person.session, organizationId),
    networkServer: await administration.serviceCredential(''),
  }
}

function loginOf({ networkServer }: Place) {
  return { username: networkServer.userName, password: networkServer.password }
}

/** Publishes numbered events by a separate client, and resolves when all are acknowledged. */
async function publishAll(service: RunningService, place: Place, name: string, count: number): Promise<Set<string>> {
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect(loginOf(place), { clientId: name }), 0)
  const topicName = `application/${place.applicationId}/device/${place.devEui}/event/up`
  const keys = new Set<string>()
  for (let sequence = 0; sequence < count; sequence += 1) {
    client.send(client.publishPacket(topicName, JSON.stringify({ publisher: name, sequence }), 1))
    const packet = await client.next()
    assert.ok(packet?.cmd === 'puback' && (packet.reasonCode ?? 0) < 0x80, JSON.stringify(packet))
    keys.add(messageKey(name, sequence))
  }
  client.destroy()
  return keys
}

/** Leaves a kept Session behind. */
async function leaveSession(service: RunningService, place: Place, clientId: string): Promise<void> {
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect({ username: place.token, password: 'default' }, { clientId, ...LASTING }), 0)
  assert.equal(await client.subscribe(`application/${place.applicationId}/device/${place.devEui}/event/+`), 1)
  client.destroy()
}

async function keepRetained(service: RunningService, place: Place): Promise<string> {
  const topicName = `application/${place.applicationId}/device/${place.otherDevEui}/event/status`
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect(loginOf(place)), 0)
  client.send(client.publishPacket(topicName, '{"margin":7}', 1, true))
  assert.equal((await client.next())?.cmd, 'puback')
  client.destroy()
  return topicName
}

async function backUp(dataDirectory: string, name: string): Promise<string> {
  const file = join(folder, name)
  const { code, out, error } = await fieldgate(dataDirectory, 'backup', file)
  assert.equal(code, 0, error)
  assert.match(out, /^\S+\.backup: [\d.]+ (?:KiB|MiB)\n$/)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  return file
}

async function restore(file: string, name: string): Promise<string> {
  const directory = join(folder, name)
  const { code, out, error } = await fieldgate(join(folder, 'nothing'), 'restore', file, '--data-dir', directory)
  assert.equal(code, 0, error)
  assert.match(out, /^\S+ is as the deployment was at 20\d\d-\S+Z\.\n$/)
  const check = await fieldgate(directory, 'check')
  assert.equal(check.code, 0, check.error + check.out)
  return directory
}

async function historyOf(service: RunningService, { applicationId }: Place): Promise<Set<string>> {
  return readHistory(service.https, service.ca, service.adminSession, applicationId)
}

test('messages acknowledged before a backup of a service under load are in the restored deployment', async () => {
  const source = await startInProcess()
  const place = await furnish(source)
  await leaveSession(source, place, 'away')
  const topicName = await keepRetained(source, place)
  const acknowledged = await publishAll(source, place, 'early', EVENTS)
  const deviceQueueItem = { confirmed: true, fPort: 10, data: 'AQID', id: NAMED_COMMAND }
  await source.http.must('POST', `/api/devices/${place.devEui}/queue`, {
    token: source.adminSession,
    json: { deviceQueueItem },
  })
  const noise = new CrashPublisher({ name: 'late', qos: 1, login: loginOf(place), topicNames: [topicName] })
  const running = noise.run(source)
  while (noise.acknowledged.size === 0) await new Promise(setImmediate)
  const file = await backUp(source.dataDirectory, 'live.backup')
  await noise.settle()
  noise.stop()
  await running
  const audit = await source.http.must('GET', '/api/audit-log?limit=1&search=backup.made', {
    token: source.adminSession,
  })
  assert.equal(audit['totalCount'], '1')
  const sourceCa = source.ca
  await source.stop()

  const target = await startInProcess({ dataDirectory: await restore(file, 'live') })
  assert.equal(target.ca, sourceCa, 'clients go on trusting it')
  await new Administration(target).login(place.person.userName)
  const { deviceQueueItems } = await target.http.must('GET', `/api/devices/${place.devEui}/queue`, {
    token: target.adminSession,
  })
  assert.deepEqual(
    (deviceQueueItems as readonly { readonly id: string }[]).map(({ id }) => id),
    [NAMED_COMMAND],
  )
  const login = { username: place.token, password: 'default' }
  const reader = await WireClient.open(target, 5)
  assert.equal(await reader.connect(login), 0)
  assert.equal(await reader.subscribe(topicName), 1)
  const retained = await reader.next()
  assert.ok(retained?.cmd === 'publish' && retained.retain)
  reader.destroy()
  const fresh = await publishAll(target, place, 'after', 20)
  const away = new CrashSubscriber({ name: 'away', version: 5, qos: 1, login, topicFilter: 'unused' })
  away.resumes()
  const reading = away.run(target, () => {})
  await within(away.has(new Set([...acknowledged, ...fresh])), 'what the Session has missed')
  away.stop()
  await reading
  assert.deepEqual(away.outOfOrder, [])
  const stored = await historyOf(target, place)
  assert.deepEqual(
    [...acknowledged, ...fresh].filter((key) => !stored.has(key)),
    [],
  )
  await target.stop()
})

test('a backup of a stopped service is the same, and one of messages in memory holds the registry', async () => {
  for (const engine of ['embedded', 'memory']) {
    const dataDirectory = join(folder, `stopped-${engine}`)
    const environment = { FIELDGATE_ENGINE: engine }
    const source = await startInProcess({ dataDirectory, environment })
    const place = await furnish(source)
    const acknowledged = await publishAll(source, place, 'one', 20)
    await source.stop()
    const file = await backUp(dataDirectory, `stopped-${engine}.backup`)
    const target = await startInProcess({ dataDirectory: await restore(file, `moved-${engine}`), environment })
    await new Administration(target).login(place.person.userName)
    assert.deepEqual(await historyOf(target, place), engine === 'memory' ? new Set() : acknowledged)
    await target.stop()
  }
})

test('a backup of a service over NATS says that its messages are elsewhere, and so do the restore and the check', async () => {
  const dataDirectory = join(folder, 'over-nats')
  const source = await startInProcess({ dataDirectory })
  const place = await furnish(source)
  await publishAll(source, place, 'one', 20)
  await source.stop()
  const environment = {
    FIELDGATE_DATA_DIR: dataDirectory,
    FIELDGATE_ENGINE: 'nats',
    FIELDGATE_NATS_URL: 'nats://127.0.0.1:4222',
    FIELDGATE_NATS_DEVELOPMENT: 'true',
    FIELDGATE_NODE_NAME: 'a',
  }
  const file = join(folder, 'over-nats.backup')
  const made = await fieldgateWith(environment, 'backup', file)
  assert.equal(made.code, 0, made.error)
  assert.match(made.error, /Messages and Sessions are on the servers of NATS, and not in this file/)
  const target = join(folder, 'over-nats-restored')
  const restored = await fieldgateWith(environment, 'restore', file, '--data-dir', target)
  assert.match(restored.out, /Messages and Sessions were on servers of NATS, and are not in this file/)
  const checked = await fieldgateWith(environment, 'check', '--data-dir', target)
  assert.deepEqual([checked.code, checked.error], [0, ''])
  assert.match(checked.out, /^messages {2}on servers of NATS, and not looked at$/m)
  assert.doesNotMatch(checked.out, /segment/)
})

test('a backup after a kill has everything that was acknowledged and answered just before the kill', async () => {
  const dataDirectory = join(folder, 'killed')
  await using source = await startAsProcess(dataDirectory)
  const place = await furnish(source)
  const acknowledged = await publishAll(source, place, 'one', 20)
  source.program.signal('SIGKILL')
  await source.program.ended()
  const check = await fieldgate(dataDirectory, 'check')
  assert.equal(check.code, 0, check.error)
  assert.match(check.out, /^registry {2}1 organization, 2 users, 2 devices\nmessages {2}20 in /)
  const file = await backUp(dataDirectory, 'killed.backup')
  const target = await startInProcess({ dataDirectory: await restore(file, 'killed-restored') })
  await new Administration(target).login(place.person.userName)
  assert.deepEqual(await historyOf(target, place), acknowledged)
  await target.stop()
})

test('a damaged backup, and a directory that is not empty, are refused, and nothing is written', async () => {
  const source = await startInProcess()
  await furnish(source)
  const file = await backUp(source.dataDirectory, 'whole.backup')
  await source.stop()
  const bytes = await readFile(file)
  const middle = Math.floor(bytes.length / 2)
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  const spoiled = join(folder, 'spoiled.backup')
  for (const content of [bytes, bytes.subarray(0, 1000), Buffer.from('hello')]) {
    await writeFile(spoiled, content)
    const target = join(folder, 'never-made')
    const { code, error } = await fieldgate(target, 'restore', spoiled)
    assert.equal(code, 1)
    assert.match(error, /Nothing was restored/)
    await assert.rejects(stat(target))
  }
  const used = join(folder, 'used')
  await mkdir(used)
  await writeFile(join(used, 'letter.txt'), 'dear')
  const { code, error } = await fieldgate(used, 'restore', file)
  assert.equal(code, 1)
  assert.match(error, /is not empty: there is letter\.txt in it/)
  assert.deepEqual(await readdir(used), ['letter.txt'])
  const missing = await fieldgate(used, 'restore', join(folder, 'no.backup'))
  assert.equal(missing.code, 1)
  assert.match(missing.error, /ENOENT/)
})

test('a directory whose restore was broken off is not served', async () => {
  const unfinished = join(folder, 'unfinished')
  await mkdir(unfinished)
  await writeFile(join(unfinished, 'restore-unfinished'), '')
  await assert.rejects(startInProcess({ dataDirectory: unfinished }), /restore was not finished/)
})

test('a check names what is damaged and lost, in the registry and in the log, and ends with 2; the start serves what is whole', async () => {
  const dataDirectory = join(folder, 'to-be-damaged')
  const source = await startInProcess({ dataDirectory })
  const place = await furnish(source)
  const running = await fieldgate(dataDirectory, 'check')
  assert.equal(running.code, 1)
  assert.match(running.error, /is in use by process/)
  await publishAll(source, place, 'one', 50)
  await source.stop()
  const well = await fieldgate(dataDirectory, 'check')
  assert.equal(well.code, 0, well.error)
  assert.match(well.out, /^registry {2}1 organization, 2 users, 2 devices\nmessages {2}50 in \d segments?/)
  const log = join(dataDirectory, 'messages', 'log')
  const [segment = ''] = (await readdir(log)).filter((name) => name.endsWith('.log')).toSorted()
  await spoil(join(log, segment), 8_000)
  const ofLog = await fieldgate(dataDirectory, 'check')
  assert.equal(ofLog.code, 2, ofLog.error)
  assert.match(ofLog.out, /^damaged .*messages that are lost: [12]/m)
  assert.match(
    ofLog.error,
    /^messages: log\/\d+\.log: \d+ bytes \(\d+ to \d+\) are damaged\. [12] messages? (is|are) lost, taken between .*: partition \d+ offsets? \d+/m,
  )
  const [lost = ''] = /\d+ messages? (?:is|are) lost/.exec(ofLog.error) ?? []
  const again = await startInProcess({ dataDirectory })
  const history = await again.http.must('GET', `/api/devices/${place.devEui}/events?limit=100`, {
    token: again.adminSession,
  })
  assert.equal((history['result'] as readonly unknown[]).length, 50 - Number.parseInt(lost, 10))
  assert.match(again.logText(), /"message":"log\.damaged"/)
  await again.stop()
  await spoil(join(dataDirectory, 'registry.db'), 4096 * 5)
  const { code, error } = await fieldgate(dataDirectory, 'check')
  assert.equal(code, 2)
  assert.match(error, /^registry: /m)
})

async function spoil(file: string, position: number): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(64, 0xa5), 0, 64, position)
  await handle.close()
}
