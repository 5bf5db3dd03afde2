import { Group, Progress, Text } from '@mantine/core'
import type { ReactElement } from 'react'

/** The level of a battery, or a dash where it is not known. */
export function Battery({ percent }: { readonly percent: number | null }): ReactElement {
  if (percent === null) {
    return (
      <Text span c="dimmed">
        –
      </Text>
    )
  }
  const color = percent < 15 ? 'red' : percent < 35 ? 'yellow' : 'field'
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress value={percent} color={color} w={56} size="sm" aria-label="Battery" />
      <Text span size="sm" className="numbers">
        {Math.round(percent)} %
      </Text>
    </Group>
  )
}
