import { Button, Group } from '@mantine/core'
import type { ReactElement } from 'react'
import { ApiFailure } from '../api/request.ts'

interface ForceButtonProps {
  readonly label: string
  readonly error: unknown
  readonly onForce: () => void
}

const FORCEABLE: ReadonlySet<string> = new Set(['codec_test_failed', 'script_not_parsed'])

/** Offers what was refused because of the codec alone. After another error it shows nothing. */
export function ForceButton({ label, error, onForce }: ForceButtonProps): ReactElement | null {
  if (!(error instanceof ApiFailure) || !FORCEABLE.has(error.reason)) return null
  return (
    <Group>
      <Button variant="light" color="red" onClick={onForce}>
        {label}
      </Button>
    </Group>
  )
}
