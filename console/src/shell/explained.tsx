import { Anchor } from '@mantine/core'
import type { ReactElement } from 'react'

interface ExplainedProps {
  /** The part of the errors page: what the broker refuses, or the HTTP interface. */
  readonly part: 'mqtt' | 'http'
  readonly code: string
}

/** A link to the paragraph of a stable code. It opens beside the console, whose page goes on. */
export function Explained({ part, code }: ExplainedProps): ReactElement {
  return (
    <Anchor href={`/docs/errors#${part}-${code}`} target="_blank" rel="noopener" size="sm" underline="always">
      What {code} means
    </Anchor>
  )
}
