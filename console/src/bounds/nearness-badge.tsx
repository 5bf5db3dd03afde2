import { Badge } from '@mantine/core'
import type { ReactElement } from 'react'
import type { Nearness } from './quantities.ts'

/** Marks a use that is near its bound or has reached it. */
export function NearnessBadge({ nearness }: { readonly nearness: Nearness }): ReactElement | null {
  if (nearness === 'far') return null
  return (
    <Badge variant="light" tt="none" color={nearness === 'at' ? 'red' : 'orange'} flex="none">
      {nearness === 'at' ? 'at its bound' : 'near its bound'}
    </Badge>
  )
}
