/** Who did what in the organization. */
import { Code, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Blank } from '../shell/blank.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { ResourceTable } from './resource-table.tsx'

interface Entry {
  readonly id: string
  readonly at: string
  readonly actorUserID: string
  readonly action: string
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** The page. */
export function AuditPage(): ReactElement {
  const { organization } = useOrganization()
  return (
    <Page title="Audit log" lead={`What was done to ${organization.displayName}, newest first.`}>
      <ResourceTable<Entry>
        path="/api/audit-log"
        query={{ organizationID: organization.id }}
        keyOf={({ id }) => id}
        columns={[
          { title: 'When', cell: ({ at }) => <When at={at} /> },
          {
            title: 'What',
            cell: ({ action }) => (
              <Text span inherit fw={500}>
                {action}
              </Text>
            ),
          },
          { title: 'To', isExtra: true, cell: ({ subject }) => <Code className="breakable">{subject}</Code> },
          { title: 'By', cell: ({ actorUserID }) => (actorUserID === '' ? 'the service' : `user ${actorUserID}`) },
          {
            title: 'Detail',
            isExtra: true,
            cell: ({ detail }) => (
              <Text size="sm" c="dimmed" className="breakable">
                {Object.entries(detail)
                  .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
                  .join(', ')}
              </Text>
            ),
          },
        ]}
        empty={
          <Blank icon="search" title="Nothing is recorded" text="Changes to members, devices and tokens appear here." />
        }
      />
    </Page>
  )
}
