/** The commands `fieldgate organization bounds` and `fieldgate organization set-bounds`. */
import type { Command } from 'commander'
import { numberAt, objectsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { BOUND_NAMES, ORGANIZATION_BOUNDS, usedShare } from '../../organization-bounds.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, showJson, withClient } from './administration.ts'
import { organizationIdOf } from './references.ts'

/** Adds the commands to `fieldgate organization`. */
export function addOrganizationBoundCommands(organization: Command, terminal: Terminal): void {
  organization
    .command('bounds')
    .description('show the bounds of an organization, and how much of each bound it uses')
    .argument('<organization>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, { json }: { readonly json?: true }, command: Command) => {
      const answer = await withClient(terminal, command, async (client) =>
        client.request('GET', await pathOf(client, reference)),
      )
      if (json === true) showJson(terminal, answer)
      else showBounds(terminal, objectsAt(answer, 'bounds'))
    })

  organization
    .command('set-bounds')
    .description('give an organization bounds of its own; bounds that are not given stay as they are')
    .argument('<organization>')
    .argument('<name=value...>', 'bounds with their new values; name=default goes back to the deployment’s bound')
    .addHelpText('after', `\nThe bounds and the values that they take:\n${rangesText()}`)
    .action(async (reference: string, texts: readonly string[], _: object, command: Command) => {
      const bounds = readBounds(texts)
      await withClient(terminal, command, async (client) =>
        client.request('PUT', await pathOf(client, reference), { bounds }),
      )
      terminal.out(`Changed the bounds of the organization ${reference}.\n`)
    })
}

async function pathOf(client: Parameters<typeof organizationIdOf>[0], reference: string): Promise<string> {
  return `/api/organizations/${await organizationIdOf(client, reference)}/bounds`
}

function showBounds(terminal: Terminal, bounds: readonly JsonObject[]): void {
  terminal.out(
    formatTable(
      [
        column('BOUND', 'name'),
        column('USED', 'used'),
        column('MAXIMUM', 'maximum'),
        column('UNIT', 'unit'),
        { title: 'SHARE', cell: shareOf },
        { title: 'FROM', cell: ({ isOverridden }) => (isOverridden === true ? 'organization' : 'deployment') },
      ],
      bounds,
    ),
  )
  if (bounds.every(({ used }) => used === null)) {
    terminal.error('The service does not run, so the use of the bounds is not known.\n')
  }
}

/** The share in whole percent, rounded down: 100 % means that nothing is left. */
function shareOf(bound: JsonObject): string {
  const used = numberAt(bound, 'used')
  const maximum = numberAt(bound, 'maximum')
  if (used === undefined || maximum === undefined) return ''
  const share = usedShare(used, maximum)
  return Number.isFinite(share) ? `${Math.floor(share * 100)} %` : 'over'
}

/** No bound has more digits. A number without end would become `null`, which is the default. */
const VALUE = /^([^=]+)=(\d{1,15}|default)$/

function readBounds(texts: readonly string[]): JsonObject {
  const bounds = new Map<string, number | null>()
  for (const text of texts) {
    const [, name, value = ''] = VALUE.exec(text) ?? []
    if (name === undefined) throw new CommandFailure(`${text}: must be name=value, with digits or "default"`, 2)
    if (!Object.hasOwn(ORGANIZATION_BOUNDS, name)) {
      throw new CommandFailure(`${text}: there is no such bound. The bounds are ${BOUND_NAMES.join(', ')}.`, 2)
    }
    if (bounds.has(name)) throw new CommandFailure(`${text}: ${name} is given twice`, 2)
    bounds.set(name, value === 'default' ? null : Number(value))
  }
  return Object.fromEntries(bounds)
}

function rangesText(): string {
  return formatTable(
    [
      { title: '  BOUND', cell: ([name]) => `  ${name}` },
      { title: 'VALUES', cell: ([, { minimum, maximum }]) => `${minimum} to ${maximum}` },
      { title: 'UNIT', cell: ([, { unit }]) => unit },
    ],
    Object.entries(ORGANIZATION_BOUNDS),
  )
}
