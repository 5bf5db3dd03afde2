import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { Icon } from './icons.tsx'
import classes from './copy-field.module.css'

interface CopyFieldProps {
  readonly label: string
  readonly value: string
}

/** A value that people copy to another place, with a button that copies it. */
export function CopyField({ label, value }: CopyFieldProps): ReactElement {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <Group gap={0} wrap="nowrap" className={classes['field']}>
        <Code className={classes['value']}>{value}</Code>
        <CopyAction label={label} value={value} />
      </Group>
    </div>
  )
}

/** The button alone. */
export function CopyAction({ label, value }: CopyFieldProps): ReactElement {
  return (
    <CopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon variant="subtle" color={copied ? 'field' : 'gray'} onClick={copy} aria-label={`Copy: ${label}`}>
            <Icon name={copied ? 'check' : 'copy'} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}
