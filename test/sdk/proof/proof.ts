/**
 * The proof of an SDK: a program that is written with it reads the events of the real service,
 * while the service is killed, the network is cut, and tokens end or are revoked. Each stored event
 * must be handed over exactly once, and in the order of its device.
 */
import assert from 'node:assert/strict'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CutProxy } from '../../network-servers/cut-proxy.ts'
import { Administration } from '../../support/administration.ts'
import { within } from '../../support/bounded-wait.ts'
import { HttpsClient, textIn } from '../../support/https-client.ts'
import { Program } from '../../support/program.ts'
import { createRandom } from '../../support/random.ts'
import { makeFolder, spawnService, startAsProcess } from '../../support/running-service.ts'
import { judge, readHandedOver } from './handed-over.ts'
import { LoadPublisher } from './load-publisher.ts'

export type Language = 'ts' | 'py'

export interface ProofOptions {
  readonly language: Language
  readonly kills: number
  readonly events: number
  /** The seed of the moments and of the choice of faults. */
  readonly seed: number
  /** The shortest and the longest time under load before a kill, in milliseconds. */
  readonly loadMs: readonly [shortest: number, longest: number]
  readonly tokenSeconds: number
  readonly say?: (line: string) => void
}

/** The counts of a run. */
export interface ProofCounts {
  readonly kills: number
  readonly cuts: number
  readonly tokensEnded: number
  readonly tokensRevoked: number
  readonly published: number
  readonly stored: number
  readonly handedOver: number
}

const DEVICES = 10
const RESTART_MS = 60_000
/** The longest time for the last events to come after the last fault. */
const SETTLE_MS = 120_000
const ENVIRONMENT = { FIELDGATE_LOG_LEVEL: 'warn' }
const PROGRAMS = fileURLToPath(new URL('../programs/', import.meta.url))
const COMMANDS: Readonly<Record<Language, readonly [string, ...string[]]>> = {
  ts: [process.execPath, join(PROGRAMS, 'prove.ts')],
  py: ['python3', join(PROGRAMS, 'prove.py')],
}

interface World {
  service: Program
  address: { readonly mqttsPort: number; readonly ca: string }
  https: string
  readonly dataDirectory: string
  readonly caFile: string
  readonly adminSession: string
  readonly organizationId: string
  readonly applicationId: string
  /** The program's API key: it reads the events of the application, and nothing else. */
  readonly apiKey: string
  readonly publisher: LoadPublisher
  /** The ways of the program under test to the service. */
  readonly ways: { readonly https: CutProxy; readonly mqtts: CutProxy }
}

/** Throws an AssertionError at the first broken promise, and then keeps the files of the run. */
export async function prove(options: ProofOptions): Promise<ProofCounts> {
  const folder = await makeFolder()
  const world = await setUp(folder)
  const file = join(folder, 'handed-over.txt')
  let publishing = world.publisher.run(world.address)
  const counts = { kills: 0, cuts: 0, tokensEnded: 0, tokensRevoked: 0 }
  try {
    await using program = startProgram(world, options, folder, file)
    await program.output(/ready/)
    const random = createRandom(options.seed)
    for (let round = 1; round <= options.kills; round += 1) {
      world.publisher.allow(Math.floor((options.events * round) / (options.kills + 1)))
      const fault = await disturb(world, options, random)
      if (fault !== undefined) counts[fault] += 1
      world.service.signal('SIGKILL')
      await world.service.ended()
      await publishing
      counts.kills += 1
      await restart(world)
      publishing = world.publisher.run(world.address)
      options.say?.(`kill ${round}: ${fault ?? 'no other fault'}; ${world.publisher.acknowledged} acknowledged`)
    }
    world.publisher.allow(options.events)
    await within(world.publisher.settled(), 'the publisher', SETTLE_MS)
    const { stored, handedOver } = await settle(world, program, file)
    program.signal('SIGTERM')
    const { code, stderr } = await program.ended()
    assert.equal(code, 0, stderr)
    await end(world, publishing)
    await rm(folder, { recursive: true, force: true })
    return { ...counts, published: world.publisher.published, stored, handedOver }
  } catch (error) {
    options.say?.(`The files of the run are kept in ${folder}`)
    await end(world, publishing)
    throw error
  }
}

async function setUp(folder: string): Promise<World> {
  const dataDirectory = join(folder, 'data')
  const service = await startAsProcess(dataDirectory, ENVIRONMENT)
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devEuis: string[] = []
  for (let count = 0; count < DEVICES; count += 1) devEuis.push(await administration.device(applicationId))
  const { userName: username, password } = await administration.serviceCredential('')
  const apiKey = { name: 'proof', rights: ['events.read'], applicationIds: [applicationId] }
  const made = await administration.must('POST', `/api/organizations/${organizationId}/api-keys`, { apiKey })
  const https = await CutProxy.open(Number(new URL(service.https).port))
  const mqtts = await CutProxy.open(service.mqttsPort)
  return {
    service: service.program,
    address: service,
    https: service.https,
    dataDirectory,
    caFile: service.caFile,
    adminSession: service.adminSession,
    organizationId,
    applicationId,
    apiKey: textIn(made, 'key'),
    publisher: new LoadPublisher({ login: { username, password }, applicationId, devEuis }),
    ways: { https, mqtts },
  }
}

function startProgram(world: World, options: ProofOptions, folder: string, file: string): Program {
  const [command, ...args] = COMMANDS[options.language]
  return new Program(command, args, {
    environment: {
      HOME: process.env['HOME'] ?? folder,
      FIELDGATE_URL: `https://localhost:${world.ways.https.port}`,
      FIELDGATE_BROKER: `mqtts://localhost:${world.ways.mqtts.port}`,
      FIELDGATE_CA: world.caFile,
      FIELDGATE_API_KEY: world.apiKey,
      FIELDGATE_ORGANIZATION: world.organizationId,
      FIELDGATE_APPLICATION: world.applicationId,
      FIELDGATE_SESSION: 'proof',
      FIELDGATE_STORE: join(folder, 'positions'),
      FIELDGATE_TOKEN_SECONDS: String(options.tokenSeconds),
      FIELDGATE_HANDED_OVER: file,
    },
  })
}

type Fault = 'cuts' | 'tokensEnded' | 'tokensRevoked'

/** Load for a while, with a fault in its middle. */
async function disturb(world: World, options: ProofOptions, random: () => number): Promise<Fault | undefined> {
  const [shortest, longest] = options.loadMs
  const ms = shortest + random() * (longest - shortest)
  await sleep(ms / 2)
  const choice = random()
  const fault = choice < 0.4 ? 'cuts' : choice < 0.6 ? 'tokensRevoked' : choice < 0.8 ? 'tokensEnded' : undefined
  if (fault === 'cuts') {
    world.ways.mqtts.cut()
    await sleep(random() * 300)
    world.ways.mqtts.mend()
  } else if (fault === 'tokensRevoked') await revokeTokens(world)
  else if (fault === 'tokensEnded') {
    // No new token can be had until the old one is over.
    world.ways.https.cut()
    await sleep(options.tokenSeconds * 1000)
    world.ways.https.mend()
  }
  await sleep(ms / 2)
  return fault
}

async function revokeTokens({ https, address, adminSession, organizationId }: World): Promise<void> {
  const http = new HttpsClient(https, address.ca)
  try {
    const list = await http.must('GET', `/api/broker-tokens?limit=100&organizationID=${organizationId}`, {
      token: adminSession,
    })
    for (const { id } of list['result'] as readonly { readonly id: string }[]) {
      await http.ask('DELETE', `/api/broker-tokens/${id}`, { token: adminSession })
    }
  } finally {
    http.close()
  }
}

async function restart(world: World): Promise<void> {
  world.service = spawnService(world.dataDirectory, ENVIRONMENT)
  const [, https = ''] = await world.service.output(/API reference +(https:\S+)\/api\/docs/, RESTART_MS)
  const [, port = ''] = await world.service.output(/MQTT over TLS +\S+:(\d+)/)
  world.https = https
  world.address = { mqttsPort: Number(port), ca: world.address.ca }
  world.ways.https.leadTo(Number(new URL(https).port))
  world.ways.mqtts.leadTo(Number(port))
}

/** Waits until the program was handed everything, and compares. */
async function settle(
  world: World,
  program: Program,
  file: string,
): Promise<{ readonly stored: number; readonly handedOver: number }> {
  const stored = await storedIds(world)
  const deadline = performance.now() + SETTLE_MS
  let size = -1
  let handedOver = await readHandedOver(file)
  while (handedOver.length < stored.size && performance.now() < deadline && !program.hasEnded) {
    await sleep(100)
    // The program makes the file with its first event.
    const now = await stat(file).then(
      (found) => found.size,
      () => 0,
    )
    if (now !== size) handedOver = await readHandedOver(file)
    size = now
  }
  const verdict = judge(handedOver, stored)
  for (const [fault, ids] of Object.entries(verdict)) {
    assert.deepEqual(
      ids.slice(0, 10),
      [],
      `${fault}: ${ids.length} events; the program said: ${program.stderr.slice(-4000)}`,
    )
  }
  assert.ok(stored.size >= world.publisher.acknowledged, 'the service stores what it has acknowledged')
  return { stored: stored.size, handedOver: handedOver.length }
}

async function storedIds({ https, address, adminSession, applicationId }: World): Promise<ReadonlySet<string>> {
  const http = new HttpsClient(https, address.ca)
  const ids = new Set<string>()
  try {
    for (let after = ''; ;) {
      const query = `limit=5000&order=oldest&kind=up${after === '' ? '' : `&after=${after}`}`
      const answer = await http.must('GET', `/api/applications/${applicationId}/events?${query}`, {
        token: adminSession,
      })
      for (const { id } of answer['result'] as readonly { readonly id: string }[]) ids.add(id)
      after = String(answer['nextCursor'])
      if (after === '') return ids
    }
  } finally {
    http.close()
  }
}

async function end(world: World, publishing: Promise<void>): Promise<void> {
  world.publisher.stop()
  await publishing
  await world.service[Symbol.asyncDispose]()
  await world.ways.https.close()
  await world.ways.mqtts.close()
}
