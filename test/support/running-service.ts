/**
 * The real service on free ports with its own data directory, in this process or as a child from
 * dist/.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkSettings, readEnvironment } from '../../src/settings/settings.ts'
import type { Disk } from '../../src/engine/ports/disk.ts'
import { createPinoLogger } from '../../src/pino-logger.ts'
import { startService } from '../../src/service/service.ts'
import type { Service } from '../../src/service/service.ts'
import { HttpsClient, textIn } from './https-client.ts'
import { Program } from './program.ts'

/** The password of the global admin `admin`. */
export const ADMIN_PASSWORD = 'admin of all the valleys'

/** The command line that a user starts. */
export const FIELDGATE = fileURLToPath(new URL('../../bin/fieldgate.mjs', import.meta.url))

export interface RunningService {
  /** `https://localhost:<port>`. */
  readonly https: string
  readonly mqttsPort: number
  readonly caFile: string
  /** The certificate authority, PEM. */
  readonly ca: string
  readonly dataDirectory: string
  readonly http: HttpsClient
  /** A session of the global admin. */
  readonly adminSession: string
  /** The service's log, one JSON object a line, from `trace` up. */
  logText(): string
  /** Stops the service and removes a data directory that it made. A second call does nothing. */
  stop(): Promise<void>
  /** As `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes an empty folder; the caller removes it. */
export function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'fieldgate-e2e-'))
}

/** The environment of a service on free ports of the loopback interface. */
function serviceEnvironment(dataDirectory: string): Record<string, string> {
  return {
    FIELDGATE_DATA_DIR: dataDirectory,
    FIELDGATE_HOST: '127.0.0.1',
    FIELDGATE_PUBLIC_HOST: 'localhost',
    FIELDGATE_HTTPS_PORT: '0',
    FIELDGATE_MQTTS_PORT: '0',
    FIELDGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
    FIELDGATE_LOG_LEVEL: 'trace',
  }
}

export interface InProcessOptions {
  /** Overrides variables of `serviceEnvironment`. */
  readonly environment?: Readonly<Record<string, string>>
  /** The authority's file, for a configured certificate. */
  readonly caFile?: string
  /** A data directory of the caller, which is not removed. */
  readonly dataDirectory?: string
  /** The disk for messages. */
  readonly disk?: Disk
}

/** Runs the service in this process. */
export async function startInProcess(options: InProcessOptions = {}): Promise<RunningService> {
  const dataDirectory = options.dataDirectory ?? (await makeFolder())
  const result = checkSettings(readEnvironment({ ...serviceEnvironment(dataDirectory), ...options.environment }), {})
  assert.ok(result.ok, JSON.stringify(result))
  const lines: string[] = []
  const log = createPinoLogger({ level: 'trace', format: 'json' }, { write: (line) => void lines.push(line) })
  const { disk } = options
  const removeOwn = async (): Promise<void> => {
    if (options.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true })
  }
  let service: Service
  try {
    service = await startService(result.settings, { log, ...(disk === undefined ? {} : { disk }) })
  } catch (error) {
    await removeOwn()
    throw error
  }
  const caFile = options.caFile ?? service.caFile ?? ''
  const stop = async (): Promise<void> => {
    await service.close()
    await removeOwn()
  }
  const reached = { https: service.addresses.https, mqttsPort: service.addresses.mqtts.port, caFile, dataDirectory }
  return open(reached, () => lines.join(''), stop)
}

/** Runs the built service as `fieldgate serve` does, in its own process: `program`. */
export async function startAsProcess(
  dataDirectory: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService & { readonly program: Program }> {
  const program = spawnService(dataDirectory, environment)
  const stop = (): Promise<void> => program[Symbol.asyncDispose]()
  try {
    const [, https = ''] = await program.output(/API reference +(https:\S+)\/api\/docs/)
    const [, port = ''] = await program.output(/MQTT over TLS +\S+:(\d+)/)
    const [, caFile = ''] = await program.output(/trust +(\S+)/)
    const reached = { https, mqttsPort: Number(port), caFile, dataDirectory }
    return { ...(await open(reached, () => program.stderr, stop)), program }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts `fieldgate serve`, which may refuse to start. */
export function spawnService(dataDirectory: string, environment: Readonly<Record<string, string>> = {}): Program {
  return new Program(process.execPath, [FIELDGATE, 'serve'], {
    environment: { ...serviceEnvironment(dataDirectory), ...environment },
  })
}

async function open(
  reached: Pick<RunningService, 'https' | 'mqttsPort' | 'caFile' | 'dataDirectory'>,
  logText: () => string,
  stopService: () => Promise<void>,
): Promise<RunningService> {
  const ca = await readFile(reached.caFile, 'utf8')
  const http = new HttpsClient(reached.https, ca)
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    http.close()
    return (stopped ??= stopService())
  }
  try {
    const login = await http.must('POST', '/api/internal/login', {
      json: { username: 'admin', password: ADMIN_PASSWORD },
    })
    return { ...reached, ca, http, adminSession: textIn(login, 'jwt'), logText, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}
