import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import type { Refusal } from '../api/broker-views.ts'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { sentence } from '../refusals/refusal-words.ts'
import { When } from '../shell/when.tsx'
import classes from './unreadable-events.module.css'

const ASKING_MS = 10_000
/** An organization has fewer credentials with such events than this. */
const LIMIT = 100

/**
 * The events of network servers that nobody can read, the newest first: of one organization, or of
 * all.
 */
export function useUnreadableEvents(organizationId: string | undefined): readonly Refusal[] {
  const query = {
    search: 'event_unreadable',
    limit: LIMIT,
    ...(organizationId === undefined ? {} : { organizationID: organizationId }),
  }
  const list = useQuery({
    queryKey: ['/api/refusals', query],
    queryFn: ({ signal }) => request<Listed<Refusal>>('GET', '/api/refusals', { query, signal }),
    refetchInterval: ASKING_MS,
  })
  return list.data?.result ?? []
}

/** The fault of a network server's newest unreadable event, and the setting to change. */
export function UnreadableEvent({ refusal }: { readonly refusal: Refusal }): ReactElement {
  return (
    <Text size="xs" maw={520} className={`breakable ${classes['warning'] ?? ''}`}>
      <When at={refusal.at} />: {sentence(refusal)}
    </Text>
  )
}
