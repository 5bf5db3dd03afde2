/** The form that connects a ChirpStack, and that can try the connection first. */
import { Alert, Button, PasswordInput, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { INVENTORIES_PATH } from '../api/inventories.ts'
import { request } from '../api/request.ts'
import { DialogForm } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'

/**
 * The path of the network servers that the service connects to itself. It is also the list's key in
 * the cache.
 */
export const NETWORK_SERVERS_PATH = '/api/network-servers'

interface Trial {
  readonly outcome: string
  readonly answer: string
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly applications: number }[]
}

/** The texts of the fields. */
interface Texts {
  readonly url: string
  readonly apiKey: string
  readonly name: string
  readonly tenant: string
  readonly caCertificate: string
}

const EMPTY: Texts = { url: '', apiKey: '', name: 'chirpstack', tenant: '', caCertificate: '' }

/** The form. */
export function ConnectForm({ onClose }: { readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [texts, setTexts] = useState(EMPTY)
  const body = { networkServer: networkServerOf(texts, organization.id) }
  const trial = useMutation({ mutationFn: () => request<Trial>('POST', `${NETWORK_SERVERS_PATH}/try`, { body }) })
  const isComplete = [texts.name, texts.url, texts.apiKey].every((text) => text.trim() !== '')
  return (
    <DialogForm
      submitLabel="Connect"
      isComplete={isComplete}
      changes={[NETWORK_SERVERS_PATH, INVENTORIES_PATH]}
      onSubmit={() => request('POST', NETWORK_SERVERS_PATH, { body })}
      onClose={onClose}
    >
      <Fields
        texts={texts}
        organizationName={organization.displayName}
        onChange={(changed) => setTexts((before) => ({ ...before, ...changed }))}
      />
      <Button variant="light" onClick={() => trial.mutate()} loading={trial.isPending} disabled={!isComplete}>
        Try the connection
      </Button>
      {trial.data === undefined ? null : <TrialAnswer trial={trial.data} />}
      <Failure error={trial.error} />
    </DialogForm>
  )
}

function networkServerOf(texts: Texts, organizationId: string): object {
  const tenant = texts.tenant.trim()
  return {
    name: texts.name.trim(),
    url: texts.url.trim(),
    apiKey: texts.apiKey.trim(),
    ...(texts.caCertificate.trim() === '' ? {} : { caCertificate: texts.caCertificate }),
    ...(tenant === '' ? {} : { tenants: { [tenant]: organizationId } }),
  }
}

interface FieldsProps {
  readonly texts: Texts
  readonly organizationName: string
  readonly onChange: (changed: Partial<Texts>) => void
}

function Fields({ texts, organizationName, onChange }: FieldsProps): ReactElement {
  return (
    <>
      <TextInput
        label="Address"
        description="https://host:port, or http://host:port for clear text, which ChirpStack’s own port 8080 speaks."
        placeholder="http://chirpstack:8080"
        value={texts.url}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
        maxLength={500}
        data-autofocus
      />
      <PasswordInput
        label="API key"
        description="Made in ChirpStack: Network Server › API keys. It is stored, and never shown again."
        value={texts.apiKey}
        onChange={(event) => onChange({ apiKey: event.currentTarget.value })}
        autoComplete="off"
      />
      <TextInput
        label="Name"
        description="Lower-case letters, digits and hyphens. The name can’t be changed later."
        value={texts.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        maxLength={40}
      />
      <TextInput
        label="Tenant (optional)"
        description={`For a tenant’s own API key: the tenant’s id. The tenant becomes the organization ${organizationName}.`}
        value={texts.tenant}
        onChange={(event) => onChange({ tenant: event.currentTarget.value })}
        maxLength={36}
      />
      {texts.url.trim().startsWith('https:') ? (
        <Textarea
          label="Certificate authority (optional)"
          description="In PEM. Needed where no public authority has signed the certificate."
          value={texts.caCertificate}
          onChange={(event) => onChange({ caCertificate: event.currentTarget.value })}
          autosize
          maxRows={6}
        />
      ) : null}
    </>
  )
}

function TrialAnswer({ trial: { outcome, answer, tenants } }: { readonly trial: Trial }): ReactElement {
  return (
    <Alert variant="light" color={outcome === 'works' ? 'green' : 'red'} icon={<Icon name="server" />} role="status">
      {answer}
      {tenants.map(({ id, name, applications }) => (
        <Text key={id} size="sm" className="breakable">
          {name === '' ? id : name}: {applications} application{applications === 1 ? '' : 's'}
        </Text>
      ))}
    </Alert>
  )
}
