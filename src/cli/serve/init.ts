import { createPinoLogger } from '../../pino-logger.ts'
import { startService } from '../../service/service.ts'
import { readSettings } from './read-settings.ts'
import { firstPasswordTo } from './serve.ts'
import { describeStartFailure } from './start-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * `fieldgate init`: makes what the first start makes, and stops: the service itself is started on
 * free ports of the loopback interface and closed again, so that there is one way to a new
 * deployment. On one that is there it changes nothing.
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
