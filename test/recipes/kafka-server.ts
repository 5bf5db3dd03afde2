/**
 * A real Apache Kafka of one process. `FIELDGATE_TEST_KAFKA` names the folder with its jars;
 * without it, Maven installs them once.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { outputOf, Program } from '../support/program.ts'

/** The time of a Java machine on a busy computer, to start and to end. */
const JAVA_MS = 120_000
const POM = fileURLToPath(new URL('./kafka-parts/pom.xml', import.meta.url))
/** Kafka tells of its start in its log alone. */
const LOG = [
  'log4j.rootLogger=INFO, out',
  'log4j.appender.out=org.apache.log4j.ConsoleAppender',
  'log4j.appender.out.layout=org.apache.log4j.PatternLayout',
  'log4j.appender.out.layout.ConversionPattern=%m%n',
]

/** The jars of Kafka, and how they are run. */
export class Kafka {
  readonly #options: readonly string[]

  private constructor(jars: string) {
    this.#options = ['-Xmx512m', '-cp', `${jars}/*`]
  }

  /** Finds or installs the jars. A text says why they can't be had. */
  static find(): Kafka | string {
    const given = process.env['FIELDGATE_TEST_KAFKA']
    if (spawnSync('java', ['-version']).status !== 0) return 'java is not here (Debian: apt-get install default-jre)'
    if (given !== undefined) return new Kafka(given)
    const installed = install()
    return installed === undefined
      ? 'set FIELDGATE_TEST_KAFKA to the folder with the jars of Kafka, or install Maven'
      : new Kafka(installed)
  }

  /** Runs a class of Kafka to its end. Returns what the program has printed. */
  run(...args: readonly string[]): Promise<string> {
    return outputOf('java', [...this.#options, ...args], { ms: JAVA_MS })
  }

  /** Starts a server with one partition a topic. The caller ends the program. */
  async start(folder: string, port: number): Promise<Program> {
    const controller = await freePort()
    const file = join(folder, 'server.properties')
    const lines = [
      'process.roles=broker,controller',
      'node.id=1',
      `controller.quorum.voters=1@127.0.0.1:${controller}`,
      `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${port}`,
      'controller.listener.names=CONTROLLER',
      'listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      `log.dirs=${join(folder, 'kafka')}`,
      'offsets.topic.replication.factor=1',
      'transaction.state.log.replication.factor=1',
      'transaction.state.log.min.isr=1',
      'group.initial.rebalance.delay.ms=0',
    ]
    await writeFile(file, `${lines.join('\n')}\n`)
    const logging = join(folder, 'log4j.properties')
    await writeFile(logging, `${LOG.join('\n')}\n`)
    await this.run('kafka.tools.StorageTool', 'format', '--cluster-id', 'MkU3OEVBNTcwNTJENDM2Qg', '--config', file)
    const kafka = new Program('java', [`-Dlog4j.configuration=file:${logging}`, ...this.#options, 'kafka.Kafka', file])
    try {
      await kafka.output(/Kafka Server started/, JAVA_MS)
    } catch (error) {
      await kafka[Symbol.asyncDispose]()
      throw error
    }
    return kafka
  }
}

/** The folder with the jars; undefined: Maven is not here, or can't get them. */
function install(): string | undefined {
  const hash = createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 32)
  const cache = join(tmpdir(), 'fieldgate-test-parts')
  const place = join(cache, `kafka-${hash}`)
  if (existsSync(place)) return place
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(join(cache, 'new-'))
  const args = ['-q', '-B', '-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${fresh}`]
  if (spawnSync('mvn', args, { stdio: 'ignore' }).status !== 0) return undefined
  renameSync(fresh, place)
  return place
}
