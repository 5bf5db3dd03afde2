/** The command `fieldgate audit-log list`. */
import type { Command } from 'commander'
import { column, listQuery, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { namesOf } from './names.ts'
import { organizationIdOf } from './references.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface AuditOptions {
  readonly organization?: string
}

/** Adds the command to the program. */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit-log').description('show who did what in the last 90 days')
  audit.addHelpText(
    'afterAll',
    `
A change by the command line is listed as a change by "the operator of this machine".

Examples:
  fieldgate audit-log list --limit 20
  fieldgate audit-log list --organization alpine-valley-water --search token.`,
  )
  withListOptions(
    audit
      .command('list')
      .description('list the changes, newest first; --search looks into actions and subjects')
      .option('--organization <organization>', 'only changes to this organization'),
  ).action(async (options: ListOptions & AuditOptions, command: Command) => {
    const { list, userName, organizationName } = await withClient(terminal, command, async (client) => {
      const { organization } = options
      const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
      return {
        list: await listPage(client, '/api/audit-log', { ...listQuery(options), organizationID }),
        userName: await namesOf(client, 'users'),
        organizationName: await namesOf(client, 'organizations'),
      }
    })
    const by = ({ actor, actorUserID }: JsonObject): unknown => {
      if (actor === 'operator') return 'the operator of this machine'
      return actor === 'user' ? userName(actorUserID) : 'the service'
    }
    showList(terminal, list, options, [
      column('AT', 'at'),
      { title: 'BY', cell: by },
      column('ACTION', 'action'),
      column('SUBJECT', 'subject'),
      { title: 'ORGANIZATION', cell: ({ organizationID }) => organizationName(organizationID) },
    ])
  })
}
