import { Badge, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import type { BrokerState } from './broker-connection.ts'

/** Says in a word whether events can arrive now. */
export function ConnectionBadge({ state }: { readonly state: BrokerState }): ReactElement {
  switch (state.phase) {
    case 'connected':
      return badge('Connected', 'field')
    case 'connecting':
      return badge('Connecting …', 'gray')
    case 'away':
      return (
        <Tooltip label={`${state.reason} The console connects again by itself.`} multiline maw={320}>
          {badge('Reconnecting …', 'orange')}
        </Tooltip>
      )
    case 'refused':
      return (
        <Tooltip label={state.reason} multiline maw={320}>
          {badge('Refused', 'red')}
        </Tooltip>
      )
  }
}

function badge(text: string, color: string): ReactElement {
  return (
    <Badge variant="dot" color={color} size="lg" tt="none" fw={500} role="status">
      {text}
    </Badge>
  )
}
