import { Button, Group, Modal, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent, ReactElement, ReactNode } from 'react'
import { Failure } from './failure.tsx'

interface FormDialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly submitLabel: string
  readonly isComplete: boolean
  /** Paths of the lists that this changes. */
  readonly changes: readonly string[]
  readonly onSubmit: () => Promise<unknown>
  readonly children: ReactNode
}

/** A form over the page; it closes when the service has taken it, and says in words why it has not. */
export function FormDialog(props: FormDialogProps): ReactElement {
  const { title, isOpen, onClose, submitLabel, isComplete, changes, onSubmit, children } = props
  const queryClient = useQueryClient()
  const submission = useMutation({
    mutationFn: onSubmit,
    onSuccess: async () => {
      onClose()
      await Promise.all(changes.map((path) => queryClient.invalidateQueries({ queryKey: [path] })))
    },
  })
  const close = (): void => {
    submission.reset()
    onClose()
  }
  return (
    <Modal.Root opened={isOpen} onClose={close} centered>
      <Modal.Overlay />
      <Modal.Content aria-label={title} radius="lg">
        <Modal.Body p="lg">
          <form
            onSubmit={(event: FormEvent) => {
              event.preventDefault()
              submission.mutate()
            }}
          >
            <Stack>
              <Modal.Title fw={650} fz="lg">
                {title}
              </Modal.Title>
              {children}
              <Failure error={submission.error} />
              <Group justify="flex-end">
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button type="submit" loading={submission.isPending} disabled={!isComplete}>
                  {submitLabel}
                </Button>
              </Group>
            </Stack>
          </form>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
