import { ActionIcon, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Icon } from '../shell/icons.tsx'
import type { IconName } from '../shell/icons.tsx'

interface RowActionOptions {
  readonly icon: IconName
  /** Contains the name of the row's thing, for people who can't see the row: `Edit pump-houses`. */
  readonly label: string
  readonly isDangerous?: boolean
}

/** An action on the thing of the row, or a link to a page about it. */
type RowActionProps = RowActionOptions & ({ readonly onClick: () => void } | { readonly href: string })

/** The button of an action, or the link to a page, at the end of a row. */
export function RowAction({ icon, label, isDangerous = false, ...does }: RowActionProps): ReactElement {
  const look = { variant: 'subtle', color: isDangerous ? 'red' : 'gray', size: 'lg', 'aria-label': label }
  const content = <Icon name={icon} size={18} />
  return (
    <Tooltip label={label}>
      {'href' in does ? (
        <ActionIcon {...look} component={Link} href={does.href}>
          {content}
        </ActionIcon>
      ) : (
        <ActionIcon {...look} onClick={does.onClick}>
          {content}
        </ActionIcon>
      )}
    </Tooltip>
  )
}
