import { Alert, Button } from '@mantine/core'
import type { ReactElement } from 'react'
import { isSessionEnd } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
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
      {sentenceOf(error)}
      {onRetry === undefined ? null : (
        <Button variant="subtle" color="red" size="compact-sm" ml="sm" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}
