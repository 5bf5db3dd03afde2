/** The broker's latest refusals: reason and remedy. */
import { Badge, Group, Stack, Text, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { ResourceTable } from '../administration/resource-table.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import type { Refusal } from '../api/broker-views.ts'
import { Holder } from '../connections/holder.tsx'
import { Blank } from '../shell/blank.tsx'
import { Explained } from '../shell/explained.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { kindWords, sentence } from './refusal-words.ts'
import { remedyOf } from './remedies.ts'

const ASKING_MS = 5_000

/** Searches that are offered. They look into the codes. */
const SHORTCUTS = [
  { value: 'token_expired', label: 'Expired tokens' },
  { value: 'token_revoked', label: 'Revoked tokens' },
  { value: '_not_granted', label: 'Topics not granted' },
  { value: 'event_device_unknown', label: 'Unknown devices' },
]

/** The page. */
export function RefusalsPage(): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const scope = useScope()
  const isOfAll = scope === 'deployment'
  const whose = isOrganizationAdmin ? `clients of ${organization.displayName}` : 'your clients'
  return (
    <Page
      title="Refusals"
      lead={`What the broker refused to ${isOfAll ? 'any client' : whose} since the service started, newest first.`}
    >
      <ResourceTable<Refusal>
        path="/api/refusals"
        query={isOfAll ? {} : { organizationID: organization.id }}
        refreshMs={ASKING_MS}
        searchLabel="Search by client, reason or topic"
        shortcuts={SHORTCUTS}
        filters={<ScopeSwitch label="Whose refusals" />}
        keyOf={(refusal) => JSON.stringify(refusal)}
        columns={[
          { title: 'What', cell: (refusal) => <What refusal={refusal} /> },
          { title: 'Client', visibleFrom: 'sm', cell: (refusal) => <Client refusal={refusal} isOfAll={isOfAll} /> },
          { title: 'When', cell: (refusal) => <Times refusal={refusal} /> },
        ]}
        empty={
          <Blank
            icon="shield"
            title="Nothing was refused"
            text="When the broker refuses a client, the reason appears here. If you searched, try other words."
          />
        }
      />
    </Page>
  )
}

function What({ refusal }: { readonly refusal: Refusal }): ReactElement {
  const remedy = remedyOf(refusal.code)
  return (
    <Stack gap={2} maw={520}>
      <Group gap={6}>
        <Tooltip label={refusal.code}>
          <Text span size="sm" fw={500}>
            {kindWords(refusal.kind)}
          </Text>
        </Tooltip>
        {refusal.topic === '' ? null : (
          <Text span size="xs" ff="monospace" className="breakable">
            {refusal.topic}
          </Text>
        )}
      </Group>
      <Text span size="sm" className="breakable">
        {sentence(refusal)}
      </Text>
      {remedy === undefined ? null : (
        <Text span size="sm" c="dimmed">
          {remedy}
        </Text>
      )}
      <Explained part="mqtt" code={refusal.code} />
      <Text span size="xs" c="dimmed" hiddenFrom="sm" className="breakable">
        {refusal.clientID} {refusal.userName}
      </Text>
    </Stack>
  )
}

function Client({ refusal, isOfAll }: { readonly refusal: Refusal; readonly isOfAll: boolean }): ReactElement {
  return (
    <Stack gap={2} align="flex-start">
      <Text span size="sm" fw={500} className="breakable">
        {refusal.clientID === '' ? 'without a client id' : refusal.clientID}
      </Text>
      <Holder holder={refusal} />
      <Text span size="xs" c="dimmed" className="breakable">
        {[refusal.address, isOfAll ? refusal.organizationName : ''].filter((text) => text !== '').join(' · ')}
      </Text>
    </Stack>
  )
}

function Times({ refusal }: { readonly refusal: Refusal }): ReactElement {
  return (
    <Group gap={6}>
      <When at={refusal.at} />
      {refusal.count === 1 ? null : (
        <Badge color="orange" variant="light" tt="none" miw="max-content" className="numbers">
          {refusal.count} times
        </Badge>
      )}
    </Group>
  )
}
