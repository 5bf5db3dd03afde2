/** The command `fieldgate serve`, and the life of a service until a signal. */
import type { Settings } from '../../settings/settings.ts'
import { createPinoLogger } from '../../pino-logger.ts'
import type { Logger } from '../../logger.ts'
import { startService } from '../../service/service.ts'
import type { Service } from '../../service/service.ts'
import { version } from '../../version.ts'
import { readSettings } from './read-settings.ts'
import { describeStartFailure } from './start-failure.ts'
import { isDoneWithin, listenForStop } from './stop-signal.ts'
import { openSupervisor } from './supervisor.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * How long an orderly end may take. It is less than the 10 s after which Docker kills a container
 * that it stops. A longer end would lose nothing: acknowledged messages are already on disk.
 */
const CLOSE_TIMEOUT_MS = 8_000
/** How long the end may take when another node has the Sessions: their clients shall go there. */
const REPLACED_TIMEOUT_MS = 2_000
/**
 * The exit code of a process in whose place another one is (EX_TEMPFAIL). Its supervisor starts it
 * again.
 */
const REPLACED_EXIT_CODE = 75

/** Runs the service until a signal; resolves with the exit code. */
export async function serve(terminal: Terminal): Promise<number> {
  const { settings, warnings } = readSettings(terminal)
  return runService(terminal, settings, warnings, (service) => {
    terminal.out(greeting(service, settings))
    return Promise.resolve(() => Promise.resolve())
  })
}

/**
 * Starts the service, passes it to `use`, and waits for a signal. Then it calls the function that
 * `use` returned, and closes the service. Resolves with the exit code. Throws CommandFailure when
 * the service can't start.
 */
export async function runService(
  terminal: Terminal,
  settings: Settings,
  warnings: readonly string[],
  use: (service: Service, log: Logger) => Promise<() => Promise<void>>,
): Promise<number> {
  // Only this user may read the files that are made in the data directory.
  process.umask(0o077)
  const log = createPinoLogger({ level: settings.logLevel, format: settings.logFormat })
  const stop = listenForStop(log)
  const supervisor = openSupervisor(process.env, log)
  for (const warning of warnings) log.warn({ warning }, 'setting.unknown')
  try {
    const replacement = Promise.withResolvers<'replaced'>()
    const drained = Promise.withResolvers<void>()
    const service = await startService(settings, {
      log,
      showFirstAdminPassword: firstPasswordTo(terminal),
      replaced: () => replacement.resolve('replaced'),
      drained: () => drained.resolve(),
    }).catch((error: unknown) => {
      throw describeStartFailure(error)
    })
    const closing: (() => Promise<void>)[] = [() => service.close()]
    let isReplaced = false
    try {
      closing.push(await use(service, log))
      supervisor.ready()
      isReplaced = (await Promise.race([stop.received, drained.promise, replacement.promise])) === 'replaced'
    } finally {
      supervisor.stopping()
      const isDone = await isDoneWithin(closeAll(closing), isReplaced ? REPLACED_TIMEOUT_MS : CLOSE_TIMEOUT_MS)
      if (!isDone) {
        log.error({ timeoutMs: CLOSE_TIMEOUT_MS }, 'service.stop_timed_out')
        process.exit(1)
      }
    }
    return isReplaced ? REPLACED_EXIT_CODE : 0
  } finally {
    stop.ignore()
    await supervisor.close()
  }
}

async function closeAll(closing: readonly (() => Promise<void>)[]): Promise<void> {
  for (const close of closing.toReversed()) await close()
}

/** Returns the function that shows the first admin's password at the first start. */
export function firstPasswordTo(terminal: Terminal): (password: string) => void {
  return (password) =>
    terminal.out(
      `First start: log in as admin with the password ${password}\n` +
        'It is shown only now. `fieldgate user set-password admin` sets another.\n\n',
    )
}

function greeting(service: Service, settings: Settings): string {
  const { https, mqtts } = service.addresses
  const trusted = service.caFile === undefined ? '' : `  trust          ${service.caFile}\n`
  return `Fieldgate ${version} is ready.

  console        ${https}
  API reference  ${https}/api/docs
  documentation  ${https}/docs
  MQTT over TLS  ${mqtts.host}:${mqtts.port}
  or WebSocket   ${https.replace('https:', 'wss:')}/mqtt
${trusted}  data           ${settings.dataDirectory}
`
}
