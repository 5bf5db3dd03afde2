import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core'
import type { ReactElement } from 'react'
import { Icon } from '../shell/icons.tsx'
import type { Pair } from './pairs.ts'

interface PairsInputProps {
  readonly label: string
  readonly description: string
  /** The singular, for buttons and fields: `tag`. */
  readonly one: string
  readonly pairs: readonly Pair[]
  readonly onChange: (pairs: readonly Pair[]) => void
}

/** Fields for any number of names with values. */
export function PairsInput({ label, description, one, pairs, onChange }: PairsInputProps): ReactElement {
  const change = (key: string, part: Partial<Pair>): void =>
    onChange(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)))
  return (
    <Input.Wrapper label={label} description={description} labelElement="div" role="group" aria-label={label}>
      <Stack gap="xs" mt={6} align="flex-start">
        {pairs.map(({ key, name, value }, index) => (
          <Group key={key} gap="xs" wrap="nowrap" w="100%">
            <TextInput
              aria-label={`Name of ${one} ${index + 1}`}
              placeholder="name"
              value={name}
              onChange={(event) => change(key, { name: event.currentTarget.value })}
              maxLength={100}
              flex={1}
            />
            <TextInput
              aria-label={`Value of ${one} ${index + 1}`}
              placeholder="value"
              value={value}
              onChange={(event) => change(key, { value: event.currentTarget.value })}
              maxLength={1000}
              flex={1}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              onClick={() => onChange(pairs.filter((pair) => pair.key !== key))}
              aria-label={`Take ${one} ${index + 1} away`}
            >
              <Icon name="trash" />
            </ActionIcon>
          </Group>
        ))}
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<Icon name="plus" />}
          onClick={() => onChange([...pairs, { key: crypto.randomUUID(), name: '', value: '' }])}
        >
          Add a {one}
        </Button>
      </Stack>
    </Input.Wrapper>
  )
}
