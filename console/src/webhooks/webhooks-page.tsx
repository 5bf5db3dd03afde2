/** The webhooks of the organization: how they stand, their tests and their deliveries. */
import { Alert, Badge, Button, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { Blank } from '../shell/blank.tsx'
import { Dialog, DialogForm, useDialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { DeliveriesDialog, TestDialog } from './delivery-dialogs.tsx'
import { RotationDialog, WebhookDialog } from './webhook-dialog.tsx'
import { webhooksPath } from './webhook.ts'
import type { Webhook } from './webhook.ts'

/** The page. */
export function WebhooksPage(): ReactElement {
  const { organization } = useOrganization()
  const path = webhooksPath(organization.id)
  const editing = useDialog<Webhook | undefined>()
  const testing = useDialog<Webhook>()
  const reading = useDialog<Webhook>()
  const switching = useDialog<Webhook>()
  const rotating = useDialog<Webhook>()
  const removing = useDialog<Removal>()
  return (
    <Page
      title="Webhooks"
      lead={`Servers to which the events of ${organization.displayName} go by HTTP, signed and in order.`}
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
          New webhook
        </Button>
      }
    >
      <ResourceTable<Webhook>
        path={path}
        refreshMs={10_000}
        searchLabel="Search by name"
        keyOf={({ id }) => id}
        columns={[
          { title: 'Name', cell: (webhook) => <Name webhook={webhook} /> },
          { title: 'State', cell: (webhook) => <State webhook={webhook} /> },
        ]}
        actions={(webhook) => (
          <>
            <RowAction icon="send" label={`Test ${webhook.name}`} onClick={() => testing.open(webhook)} />
            <RowAction icon="list" label={`Deliveries of ${webhook.name}`} onClick={() => reading.open(webhook)} />
            <RowAction
              icon={webhook.pausedAt === null ? 'pause' : 'play'}
              label={webhook.pausedAt === null ? `Pause ${webhook.name}` : `Resume ${webhook.name}`}
              onClick={() => switching.open(webhook)}
            />
            <RowAction icon="pencil" label={`Change ${webhook.name}`} onClick={() => editing.open(webhook)} />
            <RowAction icon="key" label={`New secret for ${webhook.name}`} onClick={() => rotating.open(webhook)} />
            <RowAction
              icon="trash"
              label={`Remove ${webhook.name}`}
              isDangerous
              onClick={() => removing.open({ path: `${path}/${webhook.id}`, name: webhook.name })}
            />
          </>
        )}
        empty={
          <Blank
            icon="send"
            title="No webhook yet"
            text="A webhook sends events to a server of yours, and loses none while the server is away."
            action={<Button onClick={() => editing.open(undefined)}>New webhook</Button>}
          />
        }
      />
      <WebhookDialog state={editing} />
      <TestDialog state={testing} />
      <DeliveriesDialog state={reading} />
      <SwitchDialog state={switching} />
      <RotationDialog state={rotating} />
      <RemoveDialog state={removing} verb="Remove" changes={[path]}>
        No further event is sent, and the webhook’s place in the stored events is forgotten.
      </RemoveDialog>
    </Page>
  )
}

function Name({ webhook }: { readonly webhook: Webhook }): ReactElement {
  return (
    <>
      <Text size="sm" fw={500} className="breakable">
        {webhook.name}
      </Text>
      <Text size="xs" c="dimmed" className="breakable">
        {webhook.url}
      </Text>
    </>
  )
}

function State({ webhook }: { readonly webhook: Webhook }): ReactElement {
  const isPaused = webhook.pausedAt !== null
  return (
    <>
      <Badge variant="light" tt="none" color={isPaused ? 'orange' : 'field'} autoContrast>
        {isPaused ? 'paused' : 'on'}
      </Badge>
      {isPaused ? (
        <Text size="xs" mt={4} className="breakable">
          {webhook.pauseReason}
        </Text>
      ) : null}
    </>
  )
}

/** Pauses a webhook that is on; resumes one that is paused, from a time if the person likes. */
function SwitchDialog({ state }: { readonly state: DialogView<Webhook> }): ReactElement {
  const { subject, close } = state
  const verb = subject?.pausedAt === null ? 'Pause' : 'Resume'
  return (
    <Dialog title={`${verb} ${subject?.name ?? ''}`} state={state}>
      {subject === undefined ? null : <SwitchForm webhook={subject} onClose={close} />}
    </Dialog>
  )
}

function SwitchForm({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [from, setFrom] = useState('')
  const path = webhooksPath(organization.id)
  const isOn = webhook.pausedAt === null
  const change = (): Promise<unknown> =>
    isOn
      ? request('POST', `${path}/${webhook.id}/pause`)
      : request('POST', `${path}/${webhook.id}/resume`, {
          body: from === '' ? {} : { from: new Date(from).toISOString() },
        })
  return (
    <DialogForm submitLabel={isOn ? 'Pause' : 'Resume'} isComplete changes={[path]} onSubmit={change} onClose={onClose}>
      {isOn ? (
        <Text size="sm">The webhook keeps its place. Events wait for it as long as they are stored.</Text>
      ) : (
        <>
          <Alert variant="light" color="orange" icon={<Icon name="alert" />}>
            {webhook.pauseReason}
          </Alert>
          <TextInput
            type="datetime-local"
            label="Send again from"
            description="Left empty, the webhook goes on where it was."
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
        </>
      )}
    </DialogForm>
  )
}
