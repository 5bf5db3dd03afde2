/** All organizations of the deployment, for global admins. */
import { Button, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactElement, useState } from 'react'
import type { Organization } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { FormDialog } from '../shell/form-dialog.tsx'
import { RemoveButton } from './remove-button.tsx'
import { ResourceTable } from './resource-table.tsx'

const PATH = '/api/organizations'
/** The selection at the top is kept under a key of its own. */
const CHANGES = [PATH, 'organizations', 'organization']

/** The page. */
export function OrganizationsPage(): ReactElement {
  const { organization, choose } = useOrganization()
  const [isOpen, { open, close }] = useDisclosure()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const create = async (): Promise<void> => {
    await request('POST', PATH, { body: { organization: { name, displayName } } })
    setName('')
    setDisplayName('')
  }
  return (
    <Page
      title="Organizations"
      lead="Each has its own applications, devices and members, and sees nothing of the others."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New organization
        </Button>
      }
    >
      <ResourceTable<Organization>
        path={PATH}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: (item) => (
              <Text span inherit fw={500}>
                {item.displayName}
              </Text>
            ),
          },
          { title: 'Short name', isExtra: true, cell: (item) => item.name },
          {
            title: 'Shown',
            cell: ({ id, displayName: shown }) =>
              id === organization.id ? (
                'now'
              ) : (
                <Button variant="subtle" size="compact-sm" onClick={() => choose(id)} aria-label={`Switch to ${shown}`}>
                  Switch
                </Button>
              ),
          },
        ]}
        actions={({ id, displayName: shown }) => (
          <RemoveButton
            path={`${PATH}/${id}`}
            name={shown}
            warning="Its applications, devices, tokens and credentials go with it, and all of its connections end."
            changes={CHANGES}
          />
        )}
        empty={<Blank icon="building" title="No organization matches" text="Search for another part of its name." />}
      />
      <FormDialog
        title="New organization"
        isOpen={isOpen}
        onClose={close}
        submitLabel="Create"
        isComplete={name.trim() !== ''}
        changes={CHANGES}
        onSubmit={create}
      >
        <TextInput
          label="Short name"
          description="Letters, digits, _ and -; nobody else may have it."
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <TextInput
          label="Name for people"
          value={displayName}
          onChange={(event) => setDisplayName(event.currentTarget.value)}
        />
      </FormDialog>
    </Page>
  )
}
