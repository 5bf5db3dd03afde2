/** The nodes of a deployment that did not answer. */
import { Alert } from '@mantine/core'
import type { ReactElement } from 'react'
import { Icon } from './icons.tsx'

/** A warning that things of these nodes are not shown; nothing when all nodes have answered. */
export function MissingNodes({ names }: { readonly names: readonly string[] }): ReactElement | null {
  if (names.length === 0) return null
  const title = names.length === 1 ? 'A node did not answer' : 'Some nodes did not answer'
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="alert" />} title={title} role="status">
      Nothing of {names.join(', ')} is shown. The page asks again by itself; if this stays so, look at the status.
    </Alert>
  )
}
