/** The work of `fieldgate drain`: asks the running service to drain, and waits for its end. */
import { setTimeout as wait } from 'node:timers/promises'
import { steadyNow } from '../../clock.ts'
import { readIntroduction } from '../../data/data-directory.ts'
import { createApiClient } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { authorize } from '../api/open-api-client.ts'
import { createRemoteCarrier } from '../api/remote-carrier.ts'
import { readSettings } from '../serve/read-settings.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import type { Terminal } from '../terminal/terminal.ts'

const PATH = '/api/internal/drain'
/** The time between two looks at the service. */
const LOOK_MS = 500
/** The time that the end of the service may take when its clients are gone. */
const END_MS = 30_000
/** The most seconds that the service takes. */
const MAXIMUM_SECONDS = 3_600

/** Throws CommandFailure when no service runs, or when it has not ended in time. */
export async function drainNode(terminal: Terminal, seconds: string): Promise<void> {
  if (!/^\d{1,4}$/.test(seconds) || Number(seconds) > MAXIMUM_SECONDS) {
    throw new CommandFailure(`--seconds "${seconds}" is no time from 0 to an hour.`, 2)
  }
  const { settings, warnings } = readSettings(terminal)
  for (const warning of warnings) terminal.error(`fieldgate: ${warning}\n`)
  const { dataDirectory } = settings
  const holder = await readIntroduction(dataDirectory)
  const { httpsAddress, certFile = '' } = holder ?? {}
  if (httpsAddress === undefined) throw new CommandFailure(`No service runs on ${dataDirectory}, or it is starting.`)
  const service = await authorize(settings, { httpsAddress, certFile }, undefined)
  const client = createApiClient(await createRemoteCarrier(service))
  const deadlineMs = steadyNow() + Number(seconds) * 1_000 + END_MS
  const progress = new DrainProgress(terminal)
  try {
    progress.show(await ask(client, seconds))
    for (let isServing = true; (await readIntroduction(dataDirectory))?.pid === holder?.pid;) {
      if (steadyNow() >= deadlineMs) {
        throw new CommandFailure('The service has not ended. Its log says why; SIGTERM ends it at once.')
      }
      await wait(LOOK_MS)
      if (!isServing) continue
      const left = await ask(client, seconds).catch(() => undefined)
      // The service answers no more: it is about to end.
      if (left === undefined) isServing = false
      else progress.show(left)
    }
  } finally {
    progress.end()
    await client.close()
  }
  terminal.out('The service has ended.\n')
}

/** Returns how many clients are left. A service that drains already goes on with it. */
async function ask(client: ApiClient, seconds: string): Promise<number> {
  return Number((await client.request('POST', PATH, { seconds: Number(seconds) }))['connections'])
}

/** Shows the number of clients that are left: by one line on a terminal, elsewhere by several. */
class DrainProgress {
  readonly #terminal: Terminal
  #shown: number | undefined = undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  show(left: number): void {
    if (left === this.#shown) return
    this.#shown = left
    const text = `${counted(left, 'client')} left`
    this.#terminal.error(this.#terminal.isInteractive ? `\r${text}\u001B[K` : `${text}\n`)
  }

  end(): void {
    if (this.#shown !== undefined && this.#terminal.isInteractive) this.#terminal.error('\n')
  }
}
