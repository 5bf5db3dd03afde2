import { Text, Tooltip } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { moment, relativeTime } from './moments.ts'

interface WhenProps {
  /** A moment as RFC 3339 writes it, or null for never. */
  readonly at: string | null
  readonly never?: string
}

/** A moment relative to now. Pointing at it shows the exact moment. */
export function When({ at, never = 'never' }: WhenProps): ReactElement {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useInterval(() => setNowMs(Date.now()), 15_000, { autoInvoke: true })
  if (at === null) {
    return (
      <Text span c="dimmed" inherit>
        {never}
      </Text>
    )
  }
  const atMs = Date.parse(at)
  return (
    <Tooltip label={moment(atMs)}>
      <time dateTime={at}>{relativeTime(atMs, Math.max(nowMs, Date.now() - 15_000))}</time>
    </Tooltip>
  )
}
