import { Alert, Anchor, Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { useDeployment } from '../api/broker-access.ts'
import { request } from '../api/request.ts'
import { CopyField } from '../shell/copy-field.tsx'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'

export const CREDENTIALS_PATH = '/api/service-credentials'

interface Issued {
  readonly userName: string
  readonly password: string
}

interface CredentialDialogProps {
  readonly state: DialogView<undefined>
}

/** Creates a credential, then shows its password for the only time. */
export function CredentialDialog({ state }: CredentialDialogProps): ReactElement {
  const [isHeld, setHeld] = useState(false)
  const close = (): void => {
    setHeld(false)
    state.close()
  }
  return (
    <Dialog title="New credential" state={state} isHeld={isHeld}>
      <Steps onIssued={() => setHeld(true)} onClose={close} />
    </Dialog>
  )
}

interface StepsProps {
  readonly onIssued: () => void
  readonly onClose: () => void
}

function Steps({ onIssued, onClose }: StepsProps): ReactElement {
  const [issued, setIssued] = useState<Issued>()
  const show = (made: Issued): void => {
    setIssued(made)
    onIssued()
  }
  return issued === undefined ? (
    <CredentialForm onIssued={show} onClose={onClose} />
  ) : (
    <IssuedCredential issued={issued} onClose={onClose} />
  )
}

interface CredentialFormProps {
  readonly onIssued: (issued: Issued) => void
  readonly onClose: () => void
}

function CredentialForm({ onIssued, onClose }: CredentialFormProps): ReactElement {
  const { organization, isGlobalAdmin } = useOrganization()
  const [name, setName] = useState('')
  const [scope, setScope] = useState<'organization' | 'deployment'>('organization')
  const issue = async (): Promise<void> => {
    const organizationID = scope === 'organization' ? organization.id : ''
    const body = { serviceCredential: { name: name.trim(), organizationID } }
    onIssued(await request<Issued>('POST', CREDENTIALS_PATH, { body }))
  }
  return (
    <DialogForm
      submitLabel="Create"
      isComplete={name.trim() !== ''}
      changes={[CREDENTIALS_PATH]}
      onSubmit={issue}
      // The dialog stays open to show the password.
      staysOpen
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The network server that uses the credential."
        placeholder="chirpstack"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
      />
      {isGlobalAdmin ? (
        <Radio.Group
          label="Devices of"
          value={scope}
          onChange={(chosen) => setScope(chosen === 'deployment' ? chosen : 'organization')}
        >
          <Stack gap="xs" mt="xs">
            <Radio value="organization" label={organization.displayName} />
            <Radio
              value="deployment"
              label="Every organization"
              description="For a network server that serves all organizations."
            />
          </Stack>
        </Radio.Group>
      ) : null}
      {scope === 'organization' ? (
        <Text size="sm" c="dimmed">
          From then on, commands for devices of {organization.displayName} are sent only to network servers with a
          credential of this organization. If none is connected, commands wait.
        </Text>
      ) : null}
    </DialogForm>
  )
}

interface IssuedCredentialProps {
  readonly issued: Issued
  readonly onClose: () => void
}

function IssuedCredential({ issued, onClose }: IssuedCredentialProps): ReactElement {
  const deployment = useDeployment()
  return (
    <Stack>
      <Alert variant="light" color="orange" icon={<Icon name="key" />}>
        The password is shown this once. Enter it in the network server’s MQTT integration now.
      </Alert>
      {deployment.data === undefined ? null : (
        <CopyField label="Server" value={`ssl://${deployment.data.mqttsHost}:${deployment.data.mqttsPort}`} />
      )}
      <CopyField label="User name" value={issued.userName} />
      <CopyField label="Password" value={issued.password} />
      {deployment.data?.hasOwnAuthority === true ? (
        <Text size="sm">
          The network server needs this deployment’s{' '}
          <Anchor href="/api/internal/ca.pem" download="fieldgate-ca.pem" underline="always">
            certificate authority
          </Anchor>{' '}
          too.
        </Text>
      ) : null}
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          I have entered it
        </Button>
      </Group>
    </Stack>
  )
}
