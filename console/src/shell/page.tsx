import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactElement, ReactNode } from 'react'

interface PageProps {
  readonly title: string
  /** A sentence about the purpose of the page. */
  readonly lead?: ReactNode
  /** Controls at the right of the title. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** The frame of a page: its one heading, a sentence, and its content. */
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
