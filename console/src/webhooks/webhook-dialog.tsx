import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { CopyField } from '../shell/copy-field.tsx'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { webhooksPath } from './webhook.ts'
import type { Webhook } from './webhook.ts'
import { bodyOf, draftOf } from './webhook-draft.ts'
import type { WebhookDraft } from './webhook-draft.ts'
import { ChoiceFields, ReceiverFields, WayFields } from './webhook-fields.tsx'

interface Issued {
  readonly id: string
  readonly secret: string
}

interface WebhookDialogProps {
  /** The subject is the webhook that changes. Without a subject the dialog makes one. */
  readonly state: DialogView<Webhook | undefined>
}

/** Makes or changes a webhook, and shows the secret of a new one for the only time. */
export function WebhookDialog({ state }: WebhookDialogProps): ReactElement {
  const [issued, setIssued] = useState<Issued>()
  const { subject } = state
  const close = (): void => {
    setIssued(undefined)
    state.close()
  }
  const title = subject === undefined ? 'New webhook' : `Change ${subject.name}`
  return (
    <Dialog title={title} state={state} isHeld={issued !== undefined}>
      {issued === undefined ? (
        <WebhookForm webhook={subject} onIssued={setIssued} onClose={close} />
      ) : (
        <Secret secret={issued.secret} onClose={close} />
      )}
    </Dialog>
  )
}

interface WebhookFormProps {
  readonly webhook: Webhook | undefined
  readonly onIssued: (issued: Issued) => void
  readonly onClose: () => void
}

function WebhookForm({ webhook, onIssued, onClose }: WebhookFormProps): ReactElement {
  const { organization } = useOrganization()
  const [draft, setDraft] = useState(() => draftOf(webhook))
  const change = (part: Partial<WebhookDraft>): void => setDraft((before) => ({ ...before, ...part }))
  const path = webhooksPath(organization.id)
  const save = async (): Promise<void> => {
    const body = bodyOf(draft, webhook)
    if (webhook === undefined) onIssued(await request<Issued>('POST', path, { body }))
    else await request('PUT', `${path}/${webhook.id}`, { body })
  }
  return (
    <DialogForm
      submitLabel={webhook === undefined ? 'Create' : 'Save'}
      isComplete={draft.name.trim() !== '' && draft.url.trim() !== ''}
      changes={[path]}
      onSubmit={save}
      // The dialog stays open to show the secret.
      staysOpen={webhook === undefined}
      onClose={onClose}
    >
      <ReceiverFields draft={draft} onChange={change} />
      <ChoiceFields draft={draft} onChange={change} />
      <WayFields draft={draft} onChange={change} headerNames={webhook?.headerNames ?? []} />
    </DialogForm>
  )
}

function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }): ReactElement {
  return (
    <Stack>
      <Alert variant="light" color="orange" icon={<Icon name="key" />}>
        The secret is shown this once. Your server checks the signature of each request with it.
      </Alert>
      <CopyField label="Secret" value={secret} />
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          I have stored it
        </Button>
      </Group>
    </Stack>
  )
}

interface RotationDialogProps {
  readonly state: DialogView<Webhook>
}

/** Makes a new secret, and shows it for the only time. */
export function RotationDialog({ state }: RotationDialogProps): ReactElement {
  const { organization } = useOrganization()
  const [issued, setIssued] = useState<Issued>()
  const { subject } = state
  const path = webhooksPath(organization.id)
  const close = (): void => {
    setIssued(undefined)
    state.close()
  }
  const rotate = async (): Promise<void> => {
    setIssued(await request<Issued>('POST', `${path}/${subject?.id ?? ''}/rotate-secret`, { body: {} }))
  }
  return (
    <Dialog title={`New secret for ${subject?.name ?? ''}`} state={state} isHeld={issued !== undefined}>
      {issued === undefined ? (
        <DialogForm
          submitLabel="Make a new secret"
          isComplete
          changes={[path]}
          onSubmit={rotate}
          staysOpen
          onClose={close}
        >
          <Text size="sm">
            For a day, each request is signed by both secrets, so that your server has the time to take the new one.
          </Text>
        </DialogForm>
      ) : (
        <Secret secret={issued.secret} onClose={close} />
      )}
    </Dialog>
  )
}
