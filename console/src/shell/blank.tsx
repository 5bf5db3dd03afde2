import { EmptyState } from '@mantine/core'
import type { ReactElement, ReactNode } from 'react'
import { Icon } from './icons.tsx'
import type { IconName } from './icons.tsx'

interface BlankProps {
  readonly icon: IconName
  readonly title: string
  /** Says what the person can do next. */
  readonly text: string
  readonly action?: ReactNode
}

/** Fills the place of a list that is empty. */
export function Blank({ icon, title, text, action }: BlankProps): ReactElement {
  return (
    <EmptyState
      variant="light"
      py="xl"
      maw={480}
      mx="auto"
      icon={<Icon name={icon} size={28} />}
      title={title}
      description={text}
    >
      {action === undefined ? null : <EmptyState.Actions>{action}</EmptyState.Actions>}
    </EmptyState>
  )
}
