/** The fields of a webhook's form. */
import { Checkbox, Group, MultiSelect, TextInput } from '@mantine/core'
import type { ReactElement } from 'react'
import { useApplications } from '../api/directory.ts'
import { PairsInput } from '../devices/pairs-input.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { KINDS } from './webhook.ts'
import type { WebhookDraft } from './webhook-draft.ts'

interface FieldsProps {
  readonly draft: WebhookDraft
  readonly onChange: (part: Partial<WebhookDraft>) => void
}

/** Where the events go. */
export function ReceiverFields({ draft, onChange }: FieldsProps): ReactElement {
  return (
    <>
      <TextInput
        label="Name"
        value={draft.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        maxLength={100}
        data-autofocus
      />
      <TextInput
        label="Address"
        description="Your server, which takes the events by POST."
        placeholder="https://billing.example.org/events"
        value={draft.url}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
    </>
  )
}

/** The events that go there. */
export function ChoiceFields({ draft, onChange }: FieldsProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  return (
    <>
      <MultiSelect
        label="Applications"
        description="None chosen: all applications, also later ones."
        data={(applications.data?.result ?? []).map((one) => ({ value: one.id, label: one.name }))}
        value={[...draft.applicationIds]}
        onChange={(applicationIds) => onChange({ applicationIds })}
        searchable
      />
      <Checkbox.Group
        label="Kinds of events"
        description="None chosen: all kinds."
        value={[...draft.eventKinds]}
        onChange={(eventKinds) => onChange({ eventKinds })}
      >
        <Group gap="sm" mt="xs">
          {KINDS.map((kind) => (
            <Checkbox key={kind} value={kind} label={kind} />
          ))}
        </Group>
      </Checkbox.Group>
      <PairsInput
        label="Tags"
        description="Only events of devices that have all of these tags."
        one="tag"
        pairs={draft.tags}
        onChange={(tags) => onChange({ tags })}
      />
    </>
  )
}

/** How the events go there. `headerNames`: the header fields that the webhook has. */
export function WayFields(props: FieldsProps & { readonly headerNames: readonly string[] }): ReactElement {
  const { draft, onChange, headerNames } = props
  return (
    <>
      <PairsInput
        label="Header fields"
        description={
          headerNames.length === 0
            ? 'Sent with each request. The values are never shown again.'
            : `Now: ${headerNames.join(', ')}. New fields replace all of them.`
        }
        one="header field"
        pairs={draft.headers}
        onChange={(headers) => onChange({ headers })}
      />
      <Checkbox
        label="Send several events in each request"
        checked={draft.isBatch}
        onChange={(event) => onChange({ isBatch: event.currentTarget.checked })}
      />
      <Checkbox
        label="Skip an event that is refused time and again"
        description="Otherwise the webhook is paused."
        checked={draft.skips}
        onChange={(event) => onChange({ skips: event.currentTarget.checked })}
      />
      <Checkbox
        label="Take commands for the device from answers"
        checked={draft.acceptsCommands && !draft.isBatch}
        disabled={draft.isBatch}
        onChange={(event) => onChange({ acceptsCommands: event.currentTarget.checked })}
      />
    </>
  )
}
