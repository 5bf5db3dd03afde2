import { Button, Popover, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { request } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { Icon } from '../shell/icons.tsx'

interface RemoveButtonProps {
  /** The path of what is deleted. */
  readonly path: string
  /** What it is called, for who can't see the row. */
  readonly name: string
  /** What goes with it. */
  readonly warning: string
  readonly label?: string
  readonly changes: readonly string[]
}

/** Deletes something, after it was said what goes with it. */
export function RemoveButton({ path, name, warning, label = 'Delete', changes }: RemoveButtonProps): ReactElement {
  const [isAsking, setAsking] = useState(false)
  const queryClient = useQueryClient()
  const removal = useMutation({
    mutationFn: () => request('DELETE', path),
    onError: (error) =>
      notifications.show({ color: 'red', title: `${name} is still there`, message: sentenceOf(error) }),
    onSettled: () => {
      setAsking(false)
      return Promise.all(changes.map((changed) => queryClient.invalidateQueries({ queryKey: [changed] })))
    },
  })
  return (
    <Popover opened={isAsking} onChange={setAsking} position="bottom-end" shadow="md" width={280} trapFocus>
      <Popover.Target>
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          leftSection={<Icon name="trash" />}
          onClick={() => setAsking(!isAsking)}
          aria-label={`${label} ${name}`}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={`${label} ${name}?`}>
        <Stack gap="sm">
          <Text size="sm">{warning}</Text>
          <Button color="red" size="sm" loading={removal.isPending} onClick={() => removal.mutate()}>
            {label} {name}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
