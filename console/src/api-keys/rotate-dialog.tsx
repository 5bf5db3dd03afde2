/** Gives a key a new secret, and shows it for the only time. */
import { Select, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import type { ApiKey, IssuedKey } from './api-key.ts'
import { IssuedKeyView } from './issued-key.tsx'

interface RotateDialogProps {
  readonly path: string
  readonly state: DialogView<ApiKey>
}

/** The dialog. */
export function RotateDialog({ path, state }: RotateDialogProps): ReactElement {
  const [isHeld, setHeld] = useState(false)
  const close = (): void => {
    setHeld(false)
    state.close()
  }
  const { subject } = state
  return (
    <Dialog title={`New secret of ${subject?.name ?? ''}`} state={state} isHeld={isHeld}>
      {subject === undefined ? null : (
        <RotateForm path={path} keyId={subject.id} onIssued={() => setHeld(true)} onClose={close} />
      )}
    </Dialog>
  )
}

const OVERLAPS = [
  { value: '86400', label: 'For a day' },
  { value: '604800', label: 'For a week' },
  { value: '2592000', label: 'For 30 days' },
  { value: '0', label: 'Not at all: somebody else may know it' },
]

interface RotateFormProps {
  readonly path: string
  readonly keyId: string
  readonly onIssued: () => void
  readonly onClose: () => void
}

function RotateForm({ path, keyId, onIssued, onClose }: RotateFormProps): ReactElement {
  const [overlap, setOverlap] = useState('86400')
  const [issued, setIssued] = useState<IssuedKey>()
  const rotate = async (): Promise<void> => {
    const body = { overlapSeconds: Number(overlap) }
    setIssued(await request<IssuedKey>('POST', `${path}/${keyId}/rotate`, { body }))
    onIssued()
  }
  if (issued !== undefined) return <IssuedKeyView issued={issued} onClose={onClose} />
  return (
    <DialogForm
      submitLabel="Make a new secret"
      isComplete
      changes={[path]}
      onSubmit={rotate}
      // The dialog stays open to show the key.
      staysOpen
      onClose={onClose}
    >
      <Text size="sm">The new key works at once. Sessions of the broker stay with it.</Text>
      <Select
        label="The old one stays good"
        data={OVERLAPS}
        value={overlap}
        onChange={(chosen) => setOverlap(chosen ?? '86400')}
        allowDeselect={false}
      />
      {overlap === '0' ? (
        <Text size="sm">The broker tokens of the key, and their connections, end at once.</Text>
      ) : null}
    </DialogForm>
  )
}
