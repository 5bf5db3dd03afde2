/** The applications of the organization. */
import { Anchor, Button, Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import type { Application } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { APPLICATION_CHANGES, ApplicationDialog, APPLICATIONS_PATH } from './application-dialog.tsx'

/** The page. */
export function ApplicationsPage(): ReactElement {
  const { organization } = useOrganization()
  const editing = useDialog<Application | undefined>()
  const removing = useDialog<Removal>()
  return (
    <Page
      title="Applications"
      lead="Devices that belong together, with one codec and one topic."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
          New application
        </Button>
      }
    >
      <ResourceTable<Application>
        path={APPLICATIONS_PATH}
        query={{ organizationID: organization.id }}
        searchLabel="Search by name"
        keyOf={({ id }) => id}
        columns={[
          { title: 'Name', cell: (application) => <Name application={application} /> },
          {
            title: 'Id',
            visibleFrom: 'sm',
            cell: ({ id }) => (
              <Text span ff="monospace" size="sm" className="breakable">
                {id}
              </Text>
            ),
          },
          { title: 'Open', cell: (application) => <Links application={application} /> },
        ]}
        actions={(application) => {
          const { id, name } = application
          return (
            <>
              <RowAction icon="pencil" label={`Edit ${name}`} onClick={() => editing.open(application)} />
              <RowAction
                icon="trash"
                label={`Delete ${name}`}
                isDangerous
                onClick={() => removing.open({ path: `${APPLICATIONS_PATH}/${encodeURIComponent(id)}`, name })}
              />
            </>
          )
        }}
        empty={
          <Blank
            icon="grid"
            title="No application yet"
            text="Create the first one; then add devices to it, one by one or from a table."
            action={<Button onClick={() => editing.open(undefined)}>New application</Button>}
          />
        }
      />
      <ApplicationDialog state={editing} />
      <RemoveDialog state={removing} verb="Delete" isTyped changes={APPLICATION_CHANGES}>
        All of its devices are deleted with it, and clients get no more events of them. This can’t be undone.
      </RemoveDialog>
    </Page>
  )
}

interface CellProps {
  readonly application: Application
}

/** Links to the pages about the application. */
function Links({ application: { id, name } }: CellProps): ReactElement {
  return (
    <Group gap="md">
      <Anchor size="sm" component={Link} href={`/devices?application=${id}`} aria-label={`Devices of ${name}`}>
        Devices
      </Anchor>
      <Anchor size="sm" component={Link} href={`/codecs?application=${id}`} aria-label={`Codec of ${name}`}>
        Codec
      </Anchor>
    </Group>
  )
}

function Name({ application }: CellProps): ReactElement {
  return (
    <>
      <Text size="sm" fw={500} className="breakable">
        {application.name}
      </Text>
      {application.description === '' ? null : (
        <Text size="sm" c="dimmed" lineClamp={2}>
          {application.description}
        </Text>
      )}
    </>
  )
}
