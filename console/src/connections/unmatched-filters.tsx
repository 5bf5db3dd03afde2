import { Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { UnmatchedTopicFilter } from '../api/broker-views.ts'
import classes from './connections-page.module.css'

/** One line for each Topic Filter that no message can match at present, with the reason. */
export function UnmatchedFilters({
  filters,
}: {
  readonly filters: readonly UnmatchedTopicFilter[]
}): ReactElement | null {
  if (filters.length === 0) return null
  return (
    <Stack gap={2}>
      {filters.map(({ topicFilter, reason }) => (
        <Text key={topicFilter} size="xs" className={`breakable ${classes['warning'] ?? ''}`}>
          No message matches {topicFilter}: {reason}.
        </Text>
      ))}
    </Stack>
  )
}
