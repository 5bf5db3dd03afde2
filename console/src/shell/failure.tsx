import { Alert, Button } from '@mantine/core'
import type { ReactElement } from 'react'
import { ApiFailure, isSessionEnd } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { Explained } from './explained.tsx'
import { Icon } from './icons.tsx'

interface FailureProps {
  /** Nothing is shown for null and undefined. */
  readonly error: unknown
  readonly title?: string
  readonly onRetry?: () => void
}

/** What went wrong, in words, announced to screen readers. */
export function Failure({ error, title, onRetry }: FailureProps): ReactElement | null {
  if (error === null || error === undefined || isSessionEnd(error)) return null
  return (
    <Alert color="red" variant="light" icon={<Icon name="alert" />} title={title} role="alert">
      {sentenceOf(error)} {isExplained(error) ? <Explained part="http" code={error.reason} /> : null}
      {onRetry === undefined ? null : (
        <Button variant="subtle" color="red" size="compact-sm" ml="sm" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}

/** What the service answered has a paragraph; that no answer came has none. */
function isExplained(error: unknown): error is ApiFailure {
  return error instanceof ApiFailure && error.status !== 0 && error.reason !== 'unknown'
}
