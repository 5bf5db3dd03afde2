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

/** `fieldgate audit-log ...`: who did what. */
export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit-log').description('show who did what in the last 90 days')
  audit.addHelpText(
    'afterAll',
    `
What is done by the command line stands there as done by "the operator of this machine".

Examples:
  fieldgate audit-log list --limit 20
  fieldgate audit-log list --organization alpine-valley-water --search token.`,
  )
  withListOptions(
    audit
      .command('list')
      .description('list what was done, newest first; --search looks into actions and subjects')
      .option('--organization <organization>', 'only what was done to this organization'),
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
