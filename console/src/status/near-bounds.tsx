/** The organizations that are near a bound, in the status of the deployment. */
import { Anchor, Button, Group, List, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { NearBound } from '../api/organization-bounds.ts'
import { wordsOf } from '../bounds/bound-words.ts'
import { NearnessBadge } from '../bounds/nearness-badge.tsx'
import { nearnessOf, usePart } from '../bounds/quantities.ts'
import { Panel } from '../shell/panel.tsx'

/** The bounds that are shown at once; the service tells up to 100. */
const SHOWN = 10

/** The list, the nearest first. Nothing is shown where no organization is near a bound. */
export function NearBounds({ nearBounds }: { readonly nearBounds: readonly NearBound[] }): ReactElement | null {
  const [isWhole, setWhole] = useState(false)
  if (nearBounds.length === 0) return null
  const shown = isWhole ? nearBounds : nearBounds.slice(0, SHOWN)
  return (
    <Panel title="Organizations near a bound" lead="They use 80 % of the bound or more. The nearest bound comes first.">
      <List size="sm" listStyleType="none" spacing="xs">
        {shown.map((near) => (
          <List.Item key={`${near.organizationID} ${near.bound}`}>
            <Near near={near} />
          </List.Item>
        ))}
      </List>
      {shown.length === nearBounds.length ? null : (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setWhole(true)}>
          Show all {nearBounds.length}
        </Button>
      )}
    </Panel>
  )
}

function Near({ near }: { readonly near: NearBound }): ReactElement {
  const { organizationID, organizationName, bound, used, maximum, unit } = near
  const label = wordsOf(bound)?.label ?? bound
  return (
    <Group gap="xs">
      {organizationName === '' ? (
        <Text span size="sm" c="dimmed">
          a deleted organization
        </Text>
      ) : (
        <Anchor
          component={Link}
          href={`/bounds?organization=${organizationID}`}
          size="sm"
          fw={500}
          className="breakable"
          aria-label={`Bounds of ${organizationName}: ${label}`}
        >
          {organizationName}
        </Anchor>
      )}
      <Text span size="sm">
        {label}
      </Text>
      <Text span size="sm" className="numbers">
        {usePart(used, maximum, unit)}
      </Text>
      <NearnessBadge nearness={nearnessOf(used, maximum, unit)} />
    </Group>
  )
}
