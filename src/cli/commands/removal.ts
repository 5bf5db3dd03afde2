/**
 * The common parts of the commands that delete. The object is looked up and described, a question
 * is asked, the object is deleted, and the result is shown.
 */
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { confirm, requireConfirmation } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** An object that is about to be deleted. */
export interface Removal {
  /** A DELETE of this path removes the object. */
  readonly path: string
  /** The object for people: `the application water (id 3) with 17 devices`. */
  readonly what: string
  /** The effects on other objects: `Its connections end at once.` */
  readonly consequence?: string
  /** The name to type, when many other objects are deleted too. Otherwise y is enough. */
  readonly nameToType?: string
  /** The description of the object for programs. */
  readonly json: JsonObject
}

interface RemovalOptions {
  readonly yes?: true
  readonly json?: true
}

const PAST = { delete: 'Deleted', revoke: 'Revoked', remove: 'Removed', forget: 'Forgot' } as const

/**
 * Lets `command` remove the object that its argument names. `find` gets the options of the command,
 * and throws when there is no such object.
 */
export function withRemoval(
  command: Command,
  terminal: Terminal,
  verb: keyof typeof PAST,
  find: (client: ApiClient, reference: string, options: JsonObject) => Promise<Removal>,
): void {
  command
    .option('--yes', 'do not ask; needed where there is no terminal')
    .option('--json', 'print the removed object as JSON')
    .action(async (reference: string, { yes, json }: RemovalOptions) => {
      requireConfirmation(terminal, yes)
      const removal = await withClient(terminal, command, async (client) => {
        const found = await find(client, reference, command.opts())
        if (yes === true) await client.request('DELETE', found.path)
        return found
      })
      const { what, consequence, path } = removal
      if (yes !== true) {
        const sentence = `This ${verb}s ${what}.`
        await confirm(terminal, consequence === undefined ? sentence : `${sentence} ${consequence}`, removal.nameToType)
        // The first client is closed while the question is open, so that no other command waits for
        // the data directory.
        await withClient(terminal, command, (client) => client.request('DELETE', path))
      }
      if (json === true) showJson(terminal, removal.json)
      else terminal.out(`${PAST[verb]} ${what}.\n`)
    })
}

/** The number of entries of a list. */
export async function countOf(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { totalCount } = await listPage(client, path, { ...query, limit: 0 })
  return Number(totalCount)
}
