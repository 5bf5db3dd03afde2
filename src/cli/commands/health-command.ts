/** The command `fieldgate health`, for supervisors and health checks. */
import type { Command } from 'commander'
import { createApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { readSettings } from '../serve/read-settings.ts'
import type { Terminal } from '../terminal/terminal.ts'

const PATH = '/api/internal/health'

/** Adds the command to the program. Its exit code is the answer. */
export function addHealthCommand(program: Command, terminal: Terminal): void {
  program
    .command('health')
    .description('tell whether the service of this machine is ready: exit code 0, or 1 and the reason')
    .addHelpText(
      'after',
      '\nFor health checks of containers and scripts. The command asks the service that runs on FIELDGATE_DATA_DIR.',
    )
    .action(async () => {
      const { settings } = readSettings(terminal)
      const { readIntroduction } = await import('../../data/data-directory.ts')
      const holder = await readIntroduction(settings.dataDirectory)
      if (holder === undefined) throw new CommandFailure(`No service runs on ${settings.dataDirectory}.`)
      const { httpsAddress, certFile } = holder
      if (httpsAddress === undefined || certFile === undefined) {
        throw new CommandFailure(`The service on ${settings.dataDirectory} is not ready: it is starting.`)
      }
      const { createRemoteCarrier } = await import('../api/remote-carrier.ts')
      const client = createApiClient(await createRemoteCarrier({ httpsAddress, certFile }))
      try {
        await client.request('GET', PATH)
      } finally {
        await client.close()
      }
      terminal.out('ready\n')
    })
}
