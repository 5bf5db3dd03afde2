import { Badge, type MantineColor } from '@mantine/core'
import type { ReactElement } from 'react'

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

/** The kind of an event; its colour repeats what its word says. */
export function KindBadge({ kind }: { readonly kind: string }): ReactElement {
  return (
    <Badge variant="light" color={COLORS[kind] ?? 'gray'} tt="none" fw={600} w={72} radius="sm" autoContrast>
      {kind}
    </Badge>
  )
}
