/** The command `fieldgate init`. */
import { createPinoLogger } from '../../pino-logger.ts'
import { startService } from '../../service/service.ts'
import { readSettings } from './read-settings.ts'
import { firstPasswordTo } from './serve.ts'
import { describeStartFailure } from './start-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Makes a new deployment without serving it. It starts the service on free ports of the loopback
 * interface and closes it again, so that a deployment is made in one way only. It does not change
 * an existing deployment.
 */
export async function init(terminal: Terminal): Promise<void> {
  process.umask(0o077)
  const { settings, warnings } = readSettings(terminal)
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  const log = createPinoLogger({ level: 'warn', format: 'text' })
  const quiet = { ...settings, host: '127.0.0.1', httpsPort: 0, mqttsPort: 0 }
  const service = await startService(quiet, { log, showFirstAdminPassword: firstPasswordTo(terminal) }).catch(
    (error: unknown) => {
      throw describeStartFailure(error)
    },
  )
  await service.close()
  terminal.out(`The data directory ${settings.dataDirectory} is ready.\n`)
  if (service.caFile !== undefined) terminal.out(`Clients must trust ${service.caFile}\n`)
}
