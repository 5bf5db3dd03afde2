import { Box, Group, Text, Title } from '@mantine/core'
import type { ReactElement, ReactNode } from 'react'
import classes from './panel.module.css'

interface PanelProps {
  readonly title?: string | undefined
  readonly lead?: ReactNode
  readonly aside?: ReactNode
  /** Lets tables and lists reach the edge. */
  readonly flush?: boolean
  readonly children: ReactNode
}

/** A group of things that belong together, on a surface of its own. */
export function Panel({ title, lead, aside, flush = false, children }: PanelProps): ReactElement {
  return (
    <section className={classes['panel']}>
      {title === undefined ? null : (
        <Group justify="space-between" align="flex-start" gap="sm" wrap="nowrap" className={classes['head']}>
          <div>
            <Title order={2}>{title}</Title>
            {lead === undefined ? null : (
              <Text c="dimmed" size="sm" mt={2}>
                {lead}
              </Text>
            )}
          </div>
          {aside}
        </Group>
      )}
      <Box className={flush ? undefined : classes['body']}>{children}</Box>
    </section>
  )
}
