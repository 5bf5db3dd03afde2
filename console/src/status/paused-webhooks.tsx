/** The paused webhooks of the chosen organization, in the status. */
import { Anchor, Alert, List } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { webhooksPath } from '../webhooks/webhook.ts'
import type { Webhook } from '../webhooks/webhook.ts'

/** Nothing is shown where no webhook is paused. */
export function PausedWebhooks(): ReactElement | null {
  const { organization } = useOrganization()
  const path = webhooksPath(organization.id)
  const webhooks = useQuery({
    queryKey: [path, 'status'],
    queryFn: ({ signal }) => request<Listed<Webhook>>('GET', path, { query: { limit: 100 }, signal }),
    refetchInterval: 10_000,
  })
  const paused = (webhooks.data?.result ?? []).filter(({ pausedAt }) => pausedAt !== null)
  if (paused.length === 0) return null
  return (
    <Alert
      color="orange"
      variant="light"
      icon={<Icon name="pause" />}
      title={`Paused webhooks of ${organization.displayName}`}
    >
      <List size="sm">
        {paused.map(({ id, name, pauseReason }) => (
          <List.Item key={id}>
            <Anchor component={Link} href="/webhooks" size="sm" fw={500} underline="always" className="breakable">
              {name}
            </Anchor>
            : {pauseReason}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}
