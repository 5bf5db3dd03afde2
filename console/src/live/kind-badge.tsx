import { Badge } from '@mantine/core'
import type { MantineColor } from '@mantine/core'
import type { ReactElement } from 'react'
import type { LiveEvent } from '../broker/live-event.ts'

const COLORS: Readonly<Record<string, MantineColor>> = {
  up: 'field',
  join: 'blue',
  ack: 'indigo',
  txack: 'grape',
  status: 'gray',
  location: 'cyan',
  error: 'red',
  log: 'orange',
}

/** The kind of an event. The colour repeats the word. */
export function KindBadge({ kind, isFault }: Pick<LiveEvent, 'kind' | 'isFault'>): ReactElement {
  // An error event may tell of something that a person wanted: a cancelled command.
  const color = kind === 'error' && !isFault ? 'gray' : (COLORS[kind] ?? 'gray')
  return (
    <Badge variant="light" color={color} tt="none" fw={600} w={80} px={4} flex="none" radius="sm" autoContrast>
      {kind}
    </Badge>
  )
}
