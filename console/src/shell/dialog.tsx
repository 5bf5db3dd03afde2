/**
 * Forms and questions over the page: they close when the service has taken what they say, and tell
 * in words why it has not.
 */
import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ButtonProps } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { FormEvent, ReactElement, ReactNode } from 'react'
import { Failure } from './failure.tsx'

/**
 * A dialog about one thing of a list; `subject` stays while it closes, so that nothing flickers.
 */
export interface DialogState<Subject> {
  readonly isOpen: boolean
  readonly subject: Subject | undefined
  readonly open: (subject: Subject) => void
  readonly close: () => void
}

/** What a dialog itself needs of it. */
export type DialogView<Subject> = Omit<DialogState<Subject>, 'open'>

/** A dialog that is closed at first. */
export function useDialog<Subject = void>(): DialogState<Subject> {
  const [{ isOpen, subject }, setState] = useState<{ isOpen: boolean; subject?: Subject }>({ isOpen: false })
  const open = useCallback((opened: Subject) => setState({ isOpen: true, subject: opened }), [])
  const close = useCallback(() => setState((before) => ({ ...before, isOpen: false })), [])
  return useMemo(() => ({ isOpen, subject, open, close }), [isOpen, subject, open, close])
}

interface DialogProps {
  readonly title: string
  readonly state: DialogView<unknown>
  /** Holds it open against Escape and clicks beside it: what it shows is shown once. */
  readonly isHeld?: boolean
  /** Mounted anew at each opening: what was typed and not sent is forgotten. */
  readonly children: ReactNode
}

/** The frame of a dialog. */
export function Dialog({ title, state, isHeld = false, children }: DialogProps): ReactElement {
  return (
    <Modal.Root
      opened={state.isOpen}
      onClose={state.close}
      closeOnEscape={!isHeld}
      closeOnClickOutside={!isHeld}
      centered
    >
      <Modal.Overlay backgroundOpacity={0.45} />
      <Modal.Content radius="lg" bg="var(--fieldgate-surface)">
        <Modal.Body p="lg">
          <Modal.Title fw={650} fz="lg" mb="md">
            {title}
          </Modal.Title>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

interface DialogFormProps {
  readonly submitLabel: string
  readonly submitColor?: ButtonProps['color']
  readonly isComplete: boolean
  /** First members of the keys in the cache that this changes. */
  readonly changes: readonly string[]
  readonly onSubmit: () => Promise<unknown>
  /** Leaves closing to the caller, who has something to show. */
  readonly staysOpen?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The form inside of a dialog. */
export function DialogForm(props: DialogFormProps): ReactElement {
  const { submitLabel, submitColor, isComplete, changes, onSubmit, staysOpen = false, onClose, children } = props
  const queryClient = useQueryClient()
  const submission = useMutation({
    mutationFn: onSubmit,
    onSuccess: async () => {
      if (!staysOpen) onClose()
      await Promise.all(changes.map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isComplete && !submission.isPending) submission.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <Failure error={submission.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={submission.isPending}
            disabled={!isComplete}
            {...(submitColor === undefined ? {} : { color: submitColor })}
          >
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
