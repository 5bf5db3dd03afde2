/** The applications of the organization. */
import { Anchor, Button, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactElement, useState } from 'react'
import { Link } from 'wouter'
import type { Application } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { FormDialog } from '../shell/form-dialog.tsx'
import { RemoveButton } from './remove-button.tsx'
import { ResourceTable } from './resource-table.tsx'

const PATH = '/api/applications'
/** Selections of applications are kept under a key of their own. */
const CHANGES = [PATH, 'applications']

/** The page. */
export function ApplicationsPage(): ReactElement {
  const { organization } = useOrganization()
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <Page
      title="Applications"
      lead="Devices that belong together, with one codec and one topic."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New application
        </Button>
      }
    >
      <ResourceTable<Application>
        path={PATH}
        query={{ organizationID: organization.id }}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ name }) => (
              <Text span inherit fw={500}>
                {name}
              </Text>
            ),
          },
          {
            title: 'Id',
            cell: ({ id }) => (
              <Text span ff="monospace" size="sm">
                {id}
              </Text>
            ),
          },
          { title: 'Description', isExtra: true, cell: ({ description }) => description || '–' },
          {
            title: 'Codec',
            isExtra: true,
            cell: () => (
              <Anchor component={Link} href="/codecs">
                Edit codec
              </Anchor>
            ),
          },
        ]}
        actions={({ id, name }) => (
          <RemoveButton
            path={`${PATH}/${encodeURIComponent(id)}`}
            name={name}
            warning="Its devices go with it. Clients that watch it hear nothing more from it."
            changes={CHANGES}
          />
        )}
        empty={<Blank icon="plus" title="No application yet" text="Create the first one; then add devices to it." />}
      />
      <NewApplication isOpen={isOpen} onClose={close} />
    </Page>
  )
}

function NewApplication({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const create = async (): Promise<void> => {
    await request('POST', PATH, { body: { application: { name, description, organizationID: organization.id } } })
    setName('')
    setDescription('')
  }
  return (
    <FormDialog
      title="New application"
      isOpen={isOpen}
      onClose={onClose}
      submitLabel="Create"
      isComplete={name.trim() !== ''}
      changes={CHANGES}
      onSubmit={create}
    >
      <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      <TextInput
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
