/**
 * The running service of the faults suite, its witnesses, and the promises that must hold after
 * each fault.
 */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readHistory } from '../crash/crash-history.ts'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { runProgram } from '../support/program.ts'
import type { Program } from '../support/program.ts'
import { FIELDGATE, spawnService, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { CheckEnd, FaultWorld, SmallDisk } from './fault.ts'
import { mountSmallDisk } from './small-disk.ts'
import { FaultPublisher, FaultSubscriber } from './witnesses.ts'

type Running = RunningService & { readonly program: Program }

const DEVICES = 4
const ENVIRONMENT = {
  FIELDGATE_LOG_LEVEL: 'warn',
  FIELDGATE_BROKER_TOKEN_DEFAULT_TTL_SECONDS: '31557600',
  FIELDGATE_SESSION_EXPIRY_MAXIMUM_SECONDS: '604800',
}
/** Docker kills a container that has not stopped after this time. */
const END_MS = 10_000
/** The time limit of waiting, long enough for a machine that is full of other work. */
const WAIT_MS = 60_000
const POLL_MS = 50
/** The most memory that the service may use after a fault in addition to its start: caches fill. */
const GROWTH_BYTES = 320 * 1024 * 1024
/** The number of new messages for which each check waits. */
const MESSAGES_OF_A_CHECK = 20

export class World implements FaultWorld {
  readonly dataDirectory: string
  readonly acknowledged = new Set<string>()
  readonly disk: SmallDisk | undefined
  readonly scale: number
  readonly #folder: string
  readonly #unmount: () => void
  /** Leaves no process and no file system behind if this process ends early. */
  readonly #atExit = (): void => {
    this.#running?.program.signal('SIGKILL')
    this.#unmount()
  }
  #running: Running | undefined = undefined
  #publishers: readonly FaultPublisher[] = []
  #subscribers: readonly FaultSubscriber[] = []
  #witnessing: Promise<unknown> = Promise.resolve()
  #applicationId = ''
  #baselineBytes = 0
  readonly #copies: { readonly folder: string; service?: Running }[] = []

  /**
   * Resolves when the service runs and the first messages have been acknowledged. `scale` below 1
   * makes faults smaller.
   */
  static async open(scale: number): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-faults-'))
    const mounted = mountSmallDisk(folder)
    const world = new World(folder, mounted, () => mounted?.unmount(), scale)
    try {
      await world.#begin()
      return world
    } catch (error) {
      await world.close()
      throw error
    }
  }

  private constructor(folder: string, disk: SmallDisk | undefined, unmount: () => void, scale: number) {
    this.#folder = folder
    this.dataDirectory = join(folder, 'data')
    this.disk = disk
    this.#unmount = unmount
    this.scale = scale
    process.once('exit', this.#atExit)
  }

  get service(): RunningService {
    return this.#alive()
  }

  get pid(): number {
    return this.#alive().program.pid as number
  }

  get connects(): number {
    return this.#witnesses().reduce((sum, { connects }) => sum + connects, 0)
  }

  get slowestMs(): number {
    return Math.max(...this.#subscribers.map(({ slowestMs }) => slowestMs))
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    const { program } = this.#alive()
    const startedMs = performance.now()
    program.signal(signal)
    const { code, stderr } = await program.ended(END_MS)
    if (signal === 'SIGTERM') assert.equal(code, 0, stderr.slice(-2_000))
    this.#running = undefined
    return performance.now() - startedMs
  }

  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#running = await startAsProcess(this.dataDirectory, { ...ENVIRONMENT, ...environment })
    await this.load(MESSAGES_OF_A_CHECK)
    this.#baselineBytes = await this.#residentBytes()
  }

  startUnwatched(): Program {
    return spawnService(this.dataDirectory, ENVIRONMENT)
  }

  async load(messages: number): Promise<void> {
    const wanted = this.acknowledged.size + messages
    await this.#until(() => this.acknowledged.size >= wanted, `${messages} more acknowledgements`)
  }

  async copyData(
    signal: 'SIGTERM' | 'SIGKILL',
  ): Promise<{ readonly folder: string; readonly promised: ReadonlySet<string> }> {
    await this.stop(signal)
    const promised = new Set(this.acknowledged)
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-faults-copy-'))
    this.#copies.push({ folder })
    await cp(this.dataDirectory, folder, { recursive: true })
    await this.start()
    return { folder, promised }
  }

  async check(folder: string): Promise<CheckEnd> {
    const environment = { FIELDGATE_DATA_DIR: folder }
    const { code, stdout, stderr } = await runProgram(process.execPath, [FIELDGATE, 'check'], { environment })
    return { code: code ?? -1, text: stdout + stderr }
  }

  async startCopy(folder: string): Promise<RunningService> {
    const service = await startAsProcess(folder, ENVIRONMENT)
    this.#copies.push({ folder, service })
    return service
  }

  history(service: RunningService): Promise<ReadonlySet<string>> {
    return readHistory(service.https, service.ca, service.adminSession, this.#applicationId)
  }

  /** Resets the measurements of earlier rounds. */
  beginRound(): void {
    for (const subscriber of this.#subscribers) subscriber.slowestMs = 0
  }

  /**
   * Throws an AssertionError if a promise is broken: the service answers, no acknowledged message
   * is lost, memory is given back.
   */
  async assertPromises(): Promise<void> {
    await this.#removeCopies()
    const { http } = this.#alive()
    const startedMs = performance.now()
    let health = await http.ask('GET', '/api/internal/health')
    while (health.status !== 200 && performance.now() - startedMs < WAIT_MS) {
      await sleep(POLL_MS)
      health = await http.ask('GET', '/api/internal/health')
    }
    assert.equal(health.status, 200, health.text)
    await this.load(MESSAGES_OF_A_CHECK)
    const promised = new Set(this.acknowledged)
    for (const subscriber of this.#subscribers) {
      await within(subscriber.has(promised), `everything at ${subscriber.name}`, WAIT_MS).catch(() => {})
      const missing = subscriber.missing(promised)
      assert.deepEqual(missing.slice(0, 10), [], `${subscriber.name} misses ${missing.length} acknowledged messages`)
    }
    for (const { name, lostSessions } of this.#witnesses()) assert.equal(lostSessions, 0, `the Session of ${name}`)
    const grownBytes = (await this.#residentBytes()) - this.#baselineBytes
    assert.ok(grownBytes < GROWTH_BYTES, `${Math.round(grownBytes / 1_048_576)} MiB more than at the start`)
  }

  /** Checks that all acknowledged messages are in the history, too. */
  async assertHistory(): Promise<void> {
    const promised = new Set(this.acknowledged)
    const history = await this.history(this.#alive())
    const missing = [...promised].filter((key) => !history.has(key))
    assert.deepEqual(missing.slice(0, 10), [], `the history misses ${missing.length} acknowledged messages`)
  }

  /**
   * Ends everything and removes all files. With `keep`, after a broken promise, copies the files to
   * a folder first and returns it.
   */
  async close(keep = false): Promise<string | undefined> {
    for (const witness of this.#witnesses()) witness.stop()
    await this.#witnessing
    await this.#removeCopies()
    await this.#running?.stop()
    this.#running = undefined
    let kept: string | undefined
    if (keep) {
      kept = await mkdtemp(join(tmpdir(), 'fieldgate-faults-kept-'))
      await cp(this.dataDirectory, kept, { recursive: true }).catch(() => {})
    }
    this.#unmount()
    process.off('exit', this.#atExit)
    await rm(this.#folder, { recursive: true, force: true })
    return kept
  }

  async #begin(): Promise<void> {
    this.#running = await startAsProcess(this.dataDirectory, ENVIRONMENT)
    const administration = new Administration(this.#running)
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId)
    this.#applicationId = applicationId
    const topicNames: string[] = []
    for (let count = 0; count < DEVICES; count += 1)
      topicNames.push(`application/${applicationId}/device/${await administration.device(applicationId)}/event/up`)
    const { userName, password } = await administration.serviceCredential('')
    const networkServer = { username: userName, password }
    const token = await administration.brokerToken(this.#running.adminSession, organizationId, '86400')
    const integrator = { username: token, password: 'default' }
    const topicFilter = `application/${applicationId}/device/+/event/+`
    this.#subscribers = [
      new FaultSubscriber({ name: 'newer', version: 5, login: integrator, topicFilter }),
      new FaultSubscriber({ name: 'older', version: 4, login: integrator, topicFilter }),
    ]
    this.#publishers = ['one', 'two'].map(
      (name, at) =>
        new FaultPublisher(
          { name, login: networkServer, topicNames: topicNames.slice(2 * at, 2 * at + 2) },
          this.acknowledged,
        ),
    )
    const whereIs = (): RunningService | undefined => this.#running
    const subscribing = this.#subscribers.map((witness) => witness.run(whereIs))
    await this.#until(() => this.#subscribers.every(({ isSubscribed }) => isSubscribed), 'the subscribers')
    this.#witnessing = Promise.all([...subscribing, ...this.#publishers.map((witness) => witness.run(whereIs))])
    await this.load(MESSAGES_OF_A_CHECK)
    this.#baselineBytes = await this.#residentBytes()
  }

  #alive(): Running {
    assert.ok(this.#running !== undefined, 'the service runs')
    return this.#running
  }

  #witnesses(): readonly (FaultPublisher | FaultSubscriber)[] {
    return [...this.#publishers, ...this.#subscribers]
  }

  async #until(isDone: () => boolean, what: string): Promise<void> {
    const startedMs = performance.now()
    while (!isDone()) {
      if (performance.now() - startedMs > WAIT_MS) throw new Error(`waited ${WAIT_MS} ms for ${what}`)
      await sleep(POLL_MS)
    }
  }

  async #residentBytes(): Promise<number> {
    const { http, adminSession } = this.#alive()
    const { text } = await http.ask('GET', '/metrics', { token: adminSession })
    return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
  }

  async #removeCopies(): Promise<void> {
    for (const { folder, service } of this.#copies.splice(0)) {
      await service?.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
