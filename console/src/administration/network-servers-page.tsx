/** The credentials with which network servers connect. */
import { Alert, Button, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactElement, useState } from 'react'
import { request } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { CopyField } from '../shell/copy-field.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { FormDialog } from '../shell/form-dialog.tsx'
import { RemoveButton } from './remove-button.tsx'
import { ResourceTable } from './resource-table.tsx'

interface Credential {
  readonly id: string
  readonly name: string
  readonly userName: string
  readonly createdAt: string
}

interface Issued {
  readonly userName: string
  readonly password: string
}

const PATH = '/api/service-credentials'

/** The page. */
export function NetworkServersPage(): ReactElement {
  const { organization } = useOrganization()
  const [isOpen, { open, close }] = useDisclosure()
  const [issued, setIssued] = useState<Issued>()
  const [name, setName] = useState('')
  const issue = async (): Promise<void> => {
    const body = { serviceCredential: { name, organizationID: organization.id } }
    setIssued(await request<Issued>('POST', PATH, { body }))
    setName('')
  }
  return (
    <Page
      title="Network servers"
      lead="A network server publishes the events of your devices and takes their commands. It connects with a credential of its own."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New credential
        </Button>
      }
    >
      {issued === undefined ? null : (
        <Alert
          variant="light"
          color="field"
          icon={<Icon name="key" />}
          title="The password is shown this once"
          withCloseButton
          closeButtonLabel="Close"
          onClose={() => setIssued(undefined)}
        >
          <CopyField label="User name" value={issued.userName} />
          <CopyField label="Password" value={issued.password} />
        </Alert>
      )}
      <ResourceTable<Credential>
        path={PATH}
        query={{ organizationID: organization.id }}
        keyOf={({ id }) => id}
        isSearchable={false}
        columns={[
          {
            title: 'Name',
            cell: (credential) => (
              <Text span inherit fw={500}>
                {credential.name}
              </Text>
            ),
          },
          {
            title: 'User name',
            cell: ({ userName }) => (
              <Text span ff="monospace" size="sm">
                {userName}
              </Text>
            ),
          },
          { title: 'Created', isExtra: true, cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={(credential) => (
          <RemoveButton
            path={`${PATH}/${credential.id}`}
            name={credential.name}
            label="Revoke"
            warning="The network server that uses it is disconnected at once, and its devices fall silent."
            changes={[PATH]}
          />
        )}
        empty={
          <Blank
            icon="device"
            title="No credential yet"
            text="Create one and enter it in the MQTT integration of your network server."
          />
        }
      />
      <FormDialog
        title="New credential"
        isOpen={isOpen}
        onClose={close}
        submitLabel="Create"
        isComplete={name.trim() !== ''}
        changes={[PATH]}
        onSubmit={issue}
      >
        <TextInput
          label="Name"
          description="Which network server it is for."
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
      </FormDialog>
    </Page>
  )
}
