import { ActionIcon, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { Icon } from '../shell/icons.tsx'
import type { IconName } from '../shell/icons.tsx'

interface RowActionProps {
  readonly icon: IconName
  /** Contains the name of the row's thing, for people who can't see the row: `Edit pump-houses`. */
  readonly label: string
  readonly isDangerous?: boolean
  readonly onClick: () => void
}

/** The button of an action on the thing of a row. */
export function RowAction({ icon, label, isDangerous = false, onClick }: RowActionProps): ReactElement {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color={isDangerous ? 'red' : 'gray'} size="lg" onClick={onClick} aria-label={label}>
        <Icon name={icon} size={18} />
      </ActionIcon>
    </Tooltip>
  )
}
