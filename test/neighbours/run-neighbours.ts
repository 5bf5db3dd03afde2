/**
 * Bad neighbours beside a good one, each on a fresh service: the figures of the good one in a quiet
 * time, while the other is bad, and after it has stopped.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Administration } from '../support/administration.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { Beginning, Profile } from './bad-neighbour.ts'
import { GoodNeighbour } from './good-neighbour.ts'
import type { Stretch } from './good-neighbour.ts'

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url))
const MIB = 1_048_576

export interface NeighboursOptions {
  /**
   * The profiles of one run attack the same service together, each with an organization of its own.
   */
  readonly runs: readonly (readonly Profile[])[]
  /** The length of the quiet time, and of the time after; the attack takes twice as long. */
  readonly ms: number
  /** False: only that nothing is lost, refused or disconnected; for machines that do other work. */
  readonly judgesLatency: boolean
  /** The time between the end of the attack and the last figures; default: 10 s. */
  readonly recoveryMs?: number
  readonly say?: (line: string) => void
}

/** The promise: these are the bounds of what B may feel. */
const MAXIMUM_SLOWDOWN = 3
const MAXIMUM_P99_MS = 50
/** Memory of the process that one organization may take. */
const MAXIMUM_GROWTH_BYTES = 512 * MIB
/** After an attack all is as before, within this time. */
const DEFAULT_RECOVERY_MS = 10_000

export interface Verdict {
  /** The names of the profiles of the run. */
  readonly profiles: string
  /** Sentences; none: the fence holds. */
  readonly faults: readonly string[]
}

/** Does the runs one after the other; a verdict for each. */
export async function runNeighbours(options: NeighboursOptions): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  for (const profiles of options.runs) {
    let faults: readonly string[]
    try {
      faults = await runTogether(profiles, options)
    } catch (error) {
      faults = [error instanceof Error ? error.message : String(error)]
    }
    for (const fault of faults) options.say?.(`  ✖ ${fault}`)
    verdicts.push({ profiles: profiles.map(({ name }) => name).join(', '), faults })
  }
  return verdicts
}

async function runTogether(profiles: readonly Profile[], options: NeighboursOptions): Promise<readonly string[]> {
  const folder = await makeFolder()
  const service = await startAsProcess(folder, { FIELDGATE_LOG_LEVEL: 'error' })
  let attackers: readonly ChildProcess[] = []
  let good: GoodNeighbour | undefined
  try {
    const administration = new Administration(service)
    const beginnings: Beginning[] = []
    for (const profile of profiles) beginnings.push(await settle(profile, service, administration, beginnings.length))
    good = await GoodNeighbour.begin(service, administration)
    await good.measure(options.ms / 4)
    const quiet = await good.measure(options.ms)
    const quietBytes = await residentBytes(service)
    attackers = beginnings.map(attack)
    const watch = new MemoryWatch(service)
    const attacked = await good.measure(options.ms * 2)
    const mostBytes = await watch.end()
    await Promise.all(attackers.map(stop))
    await sleep(options.recoveryMs ?? DEFAULT_RECOVERY_MS)
    const afterwards = await good.measure(options.ms)
    for (const { name, title } of profiles) options.say?.(`${name}: ${title}`)
    const figures = { quiet, attacked, afterwards, quietBytes, mostBytes }
    options.say?.(report(figures))
    return judge(figures, { ...options, organizations: profiles.length })
  } finally {
    for (const attacker of attackers) attacker.kill('SIGKILL')
    await good?.end()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts the process of a bad neighbour. */
function attack(beginning: Beginning): ChildProcess {
  const attacker = fork(ATTACKER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  attacker.send(beginning)
  return attacker
}

async function stop(attacker: ChildProcess): Promise<void> {
  const exit = once(attacker, 'exit')
  attacker.kill('SIGKILL')
  await exit
}

interface Figures {
  readonly quiet: Stretch
  readonly attacked: Stretch
  readonly afterwards: Stretch
  readonly quietBytes: number
  readonly mostBytes: number
}

function report({ quiet, attacked, afterwards, quietBytes, mostBytes }: Figures): string {
  const memory = `memory ${mib(quietBytes)} → ${mib(mostBytes)}`
  return `  quiet: ${figuresOf(quiet)}\n  attacked: ${figuresOf(attacked)}; ${memory}\n  after: ${figuresOf(afterwards)}`
}

function figuresOf({ latency, commandLatency, httpLatency }: Stretch): string {
  return `events p99 ${ms(latency.p99)}, commands ${ms(commandLatency.maximum)}, HTTP ${ms(httpLatency.maximum)}`
}

function judge(
  { quiet, attacked, afterwards, quietBytes, mostBytes }: Figures,
  { judgesLatency, organizations }: { readonly judgesLatency: boolean; readonly organizations: number },
): string[] {
  const faults = [
    ...quiet.complaints.map((text) => `before the attack: ${text}`),
    ...counted(attacked.complaints).map((text) => `in the attack: ${text}`),
    ...counted(afterwards.complaints).map((text) => `after the attack: ${text}`),
  ]
  if (mostBytes - quietBytes > MAXIMUM_GROWTH_BYTES * organizations) {
    faults.push(`the memory grew from ${mib(quietBytes)} to ${mib(mostBytes)}`)
  }
  if (!judgesLatency) return faults
  const maximumMs = Math.min(Math.max(MAXIMUM_SLOWDOWN * quiet.latency.p99, 10), MAXIMUM_P99_MS)
  for (const [when, stretch] of [
    ['in', attacked],
    ['after', afterwards],
  ] as const) {
    if (!(stretch.latency.p99 <= maximumMs)) {
      faults.push(`p99 ${when} the attack: ${ms(stretch.latency.p99)}; at most ${ms(maximumMs)} is promised`)
    }
  }
  return faults
}

/** The same complaint once, with its number. */
function counted(complaints: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const text of complaints) {
    const kind = text.replaceAll(/"messageId":\d+/g, '"messageId":…')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([text, count]) => (count === 1 ? text : `${count} times: ${text}`))
}

/** Makes the organization of a bad neighbour. `place` is its number among those of the run. */
async function settle(
  profile: Profile,
  service: RunningService,
  administration: Administration,
  place: number,
): Promise<Beginning> {
  const organizationId = await administration.organization()
  const person = await administration.person([{ organizationId, isAdmin: true }])
  const applicationIds: string[] = []
  const devices: { applicationId: string; devEui: string }[] = []
  for (let index = 0; index < (profile.applications ?? 1); index += 1) {
    const { script } = profile
    const codec = script === undefined ? {} : { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: script(index) }
    const applicationId = await administration.application(organizationId)
    if (script !== undefined)
      await administration.must('PUT', `/api/applications/${applicationId}`, { application: codec })
    applicationIds.push(applicationId)
    for (let one = 0; one < (profile.devices ?? 10); one += 1) {
      devices.push({ applicationId, devEui: await deviceOf(administration, applicationId, place, devices.length) })
    }
  }
  const { userName, password } = await administration.serviceCredential(organizationId)
  return {
    profile: profile.name,
    https: service.https,
    ca: service.ca,
    mqttsPort: service.mqttsPort,
    organizationId,
    applicationIds,
    devices,
    session: person.session,
    token: await administration.brokerToken(person.session, organizationId),
    networkServer: { username: userName, password },
  }
}

/** A DevEUI apart from those of the good neighbour and of the other bad ones. */
async function deviceOf(
  administration: Administration,
  applicationID: string,
  place: number,
  index: number,
): Promise<string> {
  const devEUI = `bad0ba${place.toString(16).padStart(2, '0')}${index.toString(16).padStart(8, '0')}`
  await administration.must('POST', '/api/devices', { device: { devEUI, applicationID } })
  return devEUI
}

/** The most that the service's process holds, asked for each second. */
class MemoryWatch {
  readonly #service: RunningService
  readonly #work: Promise<void>
  #isEnding = false
  #mostBytes = 0

  constructor(service: RunningService) {
    this.#service = service
    this.#work = this.#run()
  }

  async end(): Promise<number> {
    this.#isEnding = true
    await this.#work
    return this.#mostBytes
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      this.#mostBytes = Math.max(this.#mostBytes, await residentBytes(this.#service).catch(() => 0))
      await sleep(1_000)
    }
  }
}

async function residentBytes(service: RunningService): Promise<number> {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`
}
