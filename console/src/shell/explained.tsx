import { Anchor } from '@mantine/core'
import type { ReactElement } from 'react'

interface ExplainedProps {
  /** The part of the errors page: refusals of the broker, or of the HTTP interface. */
  readonly part: 'mqtt' | 'http'
  readonly code: string
}

/**
 * A link to the paragraph of a stable code. The link opens a second tab, so that the console stays
 * as it is.
 */
export function Explained({ part, code }: ExplainedProps): ReactElement {
  return (
    <Anchor href={`/docs/errors#${part}-${code}`} target="_blank" rel="noopener" size="sm" underline="always">
      What {code} means
    </Anchor>
  )
}
