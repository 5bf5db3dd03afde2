import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactElement, ReactNode } from 'react'

interface PageProps {
  readonly title: string
  /** A sentence on what the page is for. */
  readonly lead?: ReactNode
  /** At the right of the title. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** The frame of a page: its one heading, a sentence, and its content below each other. */
export function Page({ title, lead, aside, children }: PageProps): ReactElement {
  useDocumentTitle(`${title} · Fieldgate`)
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="sm">
        <div>
          <Title order={1}>{title}</Title>
          {lead === undefined ? null : (
            <Text c="dimmed" mt={4} maw={720}>
              {lead}
            </Text>
          )}
        </div>
        {aside}
      </Group>
      {children}
    </Stack>
  )
}
