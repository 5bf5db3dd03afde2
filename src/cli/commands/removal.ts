/**
 * The commands that delete: what goes is looked up and said, a question is asked, and what was done
 * is told.
 */
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { confirm, requireConfirmation } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Something that is about to go. */
export interface Removal {
  /** DELETE of it removes it. */
  readonly path: string
  /** `the application water (id 3) with 17 devices`. */
  readonly what: string
  /** What happens to others: `Its connections end at once.` */
  readonly consequence?: string
  /** To be typed, where much goes with it; else y is enough. */
  readonly nameToType?: string
  /** For programs. */
  readonly json: JsonObject
}

interface RemovalOptions {
  readonly yes?: true
  readonly json?: true
}

const PAST = { delete: 'Deleted', revoke: 'Revoked', remove: 'Removed' } as const

/**
 * Has `command` remove what its argument names: `find` looks that up, and throws where it is not
 * there.
 */
export function withRemoval(
  command: Command,
  terminal: Terminal,
  verb: keyof typeof PAST,
  find: (client: ApiClient, reference: string) => Promise<Removal>,
): void {
  command
    .option('--yes', 'do not ask; needed where there is no terminal')
    .option('--json', 'print as JSON what was removed')
    .action(async (reference: string, { yes, json }: RemovalOptions) => {
      requireConfirmation(terminal, yes)
      const removal = await withClient(terminal, command, async (client) => {
        const found = await find(client, reference)
        if (yes === true) await client.request('DELETE', found.path)
        return found
      })
      const { what, consequence, path } = removal
      if (yes !== true) {
        const sentence = `This ${verb}s ${what}.`
        await confirm(terminal, consequence === undefined ? sentence : `${sentence} ${consequence}`, removal.nameToType)
        // With a client of its own: nobody else waits for the data directory while the question
        // stands.
        await withClient(terminal, command, (client) => client.request('DELETE', path))
      }
      if (json === true) showJson(terminal, removal.json)
      else terminal.out(`${PAST[verb]} ${what}.\n`)
    })
}

/** How many there are of a list. */
export async function countOf(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { totalCount } = await listPage(client, path, { ...query, limit: 0 })
  return Number(totalCount)
}
