/** The device profiles of the organization. */
import { Anchor, Badge, Button, Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import type { ListedDeviceProfile } from '../api/device-profiles.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { LibraryDialog } from './library-dialog.tsx'
import { NewProfileDialog } from './new-profile-dialog.tsx'
import { CODEC_NAMES } from './profile-draft.ts'

/** The page. */
export function DeviceProfilesPage(): ReactElement {
  const { organization } = useOrganization()
  const creating = useDialog()
  const choosing = useDialog()
  return (
    <Page
      title="Device profiles"
      lead="What the devices of one kind have in common: their codec, its test vectors, tags and limits."
      aside={
        <Group gap="xs">
          <Button variant="default" leftSection={<Icon name="search" />} onClick={() => choosing.open()}>
            Choose from the library
          </Button>
          <Button leftSection={<Icon name="plus" />} onClick={() => creating.open()}>
            New profile
          </Button>
        </Group>
      }
    >
      <ResourceTable<ListedDeviceProfile>
        path={DEVICE_PROFILES_PATH}
        query={{ organizationID: organization.id }}
        searchLabel="Search by name, vendor or model"
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ id, name, hasLibraryUpdate }) => (
              <Group gap="xs">
                <Anchor size="sm" fw={500} component={Link} href={`/device-profiles/${id}`} className="breakable">
                  {name}
                </Anchor>
                {hasLibraryUpdate ? (
                  <Badge variant="light" tt="none">
                    update
                  </Badge>
                ) : null}
              </Group>
            ),
          },
          { title: 'Device', visibleFrom: 'sm', cell: (profile) => <Text size="sm">{makeOf(profile)}</Text> },
          { title: 'Codec', cell: ({ payloadCodec }) => <Text size="sm">{CODEC_NAMES[payloadCodec]}</Text> },
        ]}
        actions={({ id, name }) => <RowAction icon="pencil" label={`Edit ${name}`} href={`/device-profiles/${id}`} />}
        empty={
          <Blank
            icon="list"
            title="No device profile yet"
            text="Devices without a profile are decoded by the codec of their application."
            action={<Button onClick={() => creating.open()}>New profile</Button>}
          />
        }
      />
      <NewProfileDialog state={creating} />
      <LibraryDialog state={choosing} />
    </Page>
  )
}

function makeOf({ vendor, model, firmwareVersion }: ListedDeviceProfile): string {
  return [vendor, model, firmwareVersion].filter((text) => text !== '').join(' · ')
}
