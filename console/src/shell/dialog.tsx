/**
 * Forms and questions over the page. A dialog closes when the service has accepted the request, and
 * otherwise says why it was refused.
 */
import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ButtonProps } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { FormEvent, ReactElement, ReactNode } from 'react'
import { Failure } from './failure.tsx'

/**
 * The state of a dialog about one thing of a list. `subject` stays while the dialog closes, so that
 * its text does not flicker.
 */
export interface DialogState<Subject> {
  readonly isOpen: boolean
  readonly subject: Subject | undefined
  readonly open: (subject: Subject) => void
  readonly close: () => void
}

/** The part of the state that the dialog itself needs. */
export type DialogView<Subject> = Omit<DialogState<Subject>, 'open'>

/** The state of a dialog that is closed at first. */
export function useDialog<Subject = void>(): DialogState<Subject> {
  const [{ isOpen, subject }, setState] = useState<{ isOpen: boolean; subject?: Subject }>({ isOpen: false })
  const open = useCallback((opened: Subject) => setState({ isOpen: true, subject: opened }), [])
  const close = useCallback(() => setState((before) => ({ ...before, isOpen: false })), [])
  return useMemo(() => ({ isOpen, subject, open, close }), [isOpen, subject, open, close])
}

interface DialogProps {
  readonly title: string
  readonly state: DialogView<unknown>
  /**
   * Escape and a click beside the dialog do not close it, because its content is shown only once.
   */
  readonly isHeld?: boolean
  /** Mounted anew at each opening, so that texts that were typed and not sent are forgotten. */
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
  /** The first members of the cache keys that the request changes. */
  readonly changes: readonly string[]
  readonly onSubmit: () => Promise<unknown>
  /** The caller closes the dialog, because it has something to show before. */
  readonly staysOpen?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The form of a dialog. */
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
