/** The audit log: each change, and the user who made it. */
import { Box, Group, Stack, Switch, Text, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { useAddressState } from '../administration/address-state.ts'
import { PAGE } from '../administration/resource-list.ts'
import { ResourceTable } from '../administration/resource-table.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import { Blank } from '../shell/blank.tsx'
import { moment } from '../shell/moments.ts'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { useActorNames } from './actor-names.ts'
import { actorText, factsOf, isAboutUser, SHORTCUTS, wordsOf } from './audit-words.ts'

interface Entry {
  readonly id: string
  readonly at: string
  readonly actor: 'user' | 'operator' | 'service' | 'apiKey'
  /** The user's id; "" unless the actor is a user. */
  readonly actorUserID: string
  readonly actorName: string
  readonly action: string
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** The name of the filter in the address. */
const CONSOLE_TOKENS = 'console-tokens'

/** The page. */
export function AuditPage(): ReactElement {
  const { organization } = useOrganization()
  const scope = useScope()
  // The console's own tokens are left out at first: each opening of Live or of a device issues and
  // revokes one.
  const { get, set } = useAddressState()
  const withConsoleTokens = get(CONSOLE_TOKENS) === 'true'
  const names = useActorNames()
  return (
    <Page
      title="Audit log"
      lead={`What was done to ${scope === 'organization' ? organization.displayName : 'the whole deployment'} in the last 90 days, newest first.`}
    >
      <ResourceTable<Entry>
        path="/api/audit-log"
        query={{
          ...(scope === 'organization' ? { organizationID: organization.id } : {}),
          consoleTokens: String(withConsoleTokens),
        }}
        searchLabel="Search by action, id or DevEUI"
        shortcuts={SHORTCUTS}
        filters={
          <>
            <ScopeSwitch label="Whose entries" />
            <Switch
              label="Show the console’s own tokens"
              checked={withConsoleTokens}
              onChange={(event) => set({ [CONSOLE_TOKENS]: event.currentTarget.checked ? 'true' : '', [PAGE]: '' })}
            />
          </>
        }
        keyOf={({ id }) => id}
        columns={[
          { title: 'When', cell: (entry) => <When entry={entry} /> },
          { title: 'What', cell: (entry) => <What entry={entry} names={names} /> },
          { title: 'By', visibleFrom: 'sm', cell: (entry) => <Actor entry={entry} /> },
        ]}
        empty={
          <Blank
            icon="list"
            title="Nothing is recorded"
            text="Changes to members, applications, devices and tokens appear here. If you searched, try other words."
          />
        }
      />
    </Page>
  )
}

interface EntryProps {
  readonly entry: Entry
}

interface CellProps extends EntryProps {
  readonly names: ReadonlyMap<string, string>
}

function When({ entry }: EntryProps): ReactElement {
  return (
    <>
      <time dateTime={entry.at}>{moment(Date.parse(entry.at))}</time>
      <Box hiddenFrom="sm">
        <Actor entry={entry} />
      </Box>
    </>
  )
}

function What({ entry, names }: CellProps): ReactElement {
  const { action, subject, detail } = entry
  return (
    <Stack gap={2}>
      <Group gap={6}>
        <Tooltip label={action}>
          <Text size="sm" fw={500}>
            {wordsOf(action)}
          </Text>
        </Tooltip>
        <Text span ff="monospace" size="sm" className="breakable">
          {isAboutUser(action) ? (names.get(subject) ?? subject) : subject}
        </Text>
      </Group>
      <Text size="sm" c="dimmed" className="breakable">
        {factsOf(detail, names)
          .map(({ name, value }) => `${name}: ${value}`)
          .join(' · ')}
      </Text>
    </Stack>
  )
}

function Actor({ entry }: EntryProps): ReactElement {
  return (
    <Text size="sm" c="dimmed" className="breakable">
      {actorText(entry)}
    </Text>
  )
}
