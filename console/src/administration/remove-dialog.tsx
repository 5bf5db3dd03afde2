import { Code, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement, ReactNode } from 'react'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'

/** The thing that is to be deleted. */
export interface Removal {
  /** The path that the DELETE request goes to. */
  readonly path: string
  readonly name: string
}

interface RemoveDialogProps {
  readonly state: DialogView<Removal>
  /** The word before the name: `Delete`, `Revoke`, `Remove`. */
  readonly verb: string
  /** The text of the button, where the verb is too long for it. */
  readonly submitLabel?: string
  /** Says what is deleted together with the thing. */
  readonly children: ReactNode
  /** Asks the person to type the name, where the deletion takes much that nobody can bring back. */
  readonly isTyped?: boolean
  readonly changes: readonly string[]
  readonly onRemoved?: () => void
}

/** Asks before something is deleted, and says what is deleted together with it. */
export function RemoveDialog(props: RemoveDialogProps): ReactElement {
  const { state, verb, submitLabel = verb, children, isTyped = false, ...rest } = props
  const { subject } = state
  return (
    <Dialog title={`${verb} ${subject?.name ?? ''}?`} state={state}>
      {subject === undefined ? null : (
        <Question removal={subject} submitLabel={submitLabel} isTyped={isTyped} onClose={state.close} {...rest}>
          {children}
        </Question>
      )}
    </Dialog>
  )
}

interface QuestionProps {
  readonly removal: Removal
  readonly submitLabel: string
  readonly children: ReactNode
  readonly isTyped: boolean
  readonly changes: readonly string[]
  readonly onRemoved?: () => void
  readonly onClose: () => void
}

function Question(props: QuestionProps): ReactElement {
  const { removal, submitLabel, children, isTyped, changes, onRemoved, onClose } = props
  const { path, name } = removal
  const [typed, setTyped] = useState('')
  const remove = async (): Promise<void> => {
    await request('DELETE', path)
    onRemoved?.()
  }
  return (
    <DialogForm
      submitLabel={submitLabel}
      submitColor="red"
      isComplete={!isTyped || typed.trim() === name}
      changes={changes}
      onSubmit={remove}
      onClose={onClose}
    >
      <Text size="sm">{children}</Text>
      {isTyped ? (
        <TextInput
          label={
            <>
              Type <Code>{name}</Code> to go on
            </>
          }
          aria-label="The name, to go on"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      ) : null}
    </DialogForm>
  )
}
