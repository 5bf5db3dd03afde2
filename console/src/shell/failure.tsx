import { Alert, Button } from '@mantine/core'
import type { ReactElement } from 'react'
import { ApiFailure, isSessionEnd } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { Explained } from './explained.tsx'
import { Icon } from './icons.tsx'

interface FailureProps {
  /** The error. Null and undefined show nothing. */
  readonly error: unknown
  readonly title?: string
  readonly onRetry?: () => void
}

/** An error in words, which screen readers announce. */
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

/**
 * True for an answer of the service: its code has a paragraph in the documentation. A missing
 * answer has none.
 */
function isExplained(error: unknown): error is ApiFailure {
  return error instanceof ApiFailure && error.status !== 0 && error.reason !== 'unknown'
}
