/** All devices of the organization, found by name or DevEUI. */
import { Anchor, Badge, Button, Group, Select, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ComponentProps, ReactElement } from 'react'
import { Link } from 'wouter'
import { useAddressState } from '../administration/address-state.ts'
import { PAGE, useResourceList } from '../administration/resource-list.ts'
import { ListView } from '../administration/resource-table.tsx'
import { DEVICES_PATH, useApplications } from '../api/directory.ts'
import type { Device } from '../api/directory.ts'
import { download } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { saveAs } from '../shell/save-as.ts'
import { When } from '../shell/when.tsx'
import { Battery } from './battery.tsx'
import { DeviceDialog } from './device-dialog.tsx'
import { DeviceStateCell, DeviceStateFilter, DeviceStateNumbers } from './device-state.tsx'

/** The names of the filters in the address. */
const APPLICATION = 'application'
const STATE = 'state'

/** The interval of the requests for the list: devices send at any time. */
const REFRESH_MS = 30_000

/** The page. */
export function DevicesPage(): ReactElement {
  const { organization, isDeviceAdmin } = useOrganization()
  const creating = useDialog<undefined>()
  const applications = useApplications(organization.id)
  const { get, set } = useAddressState()
  const applicationId = get(APPLICATION)
  const state = get(STATE)
  const list = useResourceList<Device>({
    path: DEVICES_PATH,
    query: { organizationID: organization.id, applicationID: applicationId, state },
    refreshMs: REFRESH_MS,
  })
  const [failure, setFailure] = useState<unknown>(null)
  const nameOf = new Map(applications.data?.result.map(({ id, name }) => [id, name]))
  return (
    <Page
      title="Devices"
      lead={list.answer.data === undefined ? undefined : counted(list.total)}
      aside={
        <Group gap="xs">
          <ExportButton applicationId={applicationId} onFailure={setFailure} />
          {isDeviceAdmin ? <NewDevices onCreate={() => creating.open(undefined)} /> : null}
        </Group>
      }
    >
      <Failure error={failure} />
      <DeviceDialog state={creating} applicationId={applicationId === '' ? undefined : applicationId} />
      <DeviceStateNumbers
        applicationId={applicationId}
        value={state}
        onChange={(chosen) => set({ [STATE]: chosen, [PAGE]: '' })}
      />
      <ListView<Device>
        list={list}
        label="Devices"
        searchLabel="Search by name or DevEUI"
        filters={
          <>
            <Select
              aria-label="Application"
              w={{ base: '100%', xs: 220 }}
              placeholder="All applications"
              data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
              value={applicationId === '' ? null : applicationId}
              onChange={(id) => set({ [APPLICATION]: id ?? '', [PAGE]: '' })}
              clearable
              searchable
            />
            <DeviceStateFilter value={state} onChange={(chosen) => set({ [STATE]: chosen, [PAGE]: '' })} />
          </>
        }
        keyOf={({ devEUI }) => devEUI}
        columns={columnsOf((id) => nameOf.get(id) ?? id)}
        empty={<NoDevices isSearching={list.isSearching || applicationId !== '' || state !== ''} />}
      />
    </Page>
  )
}

/** The columns; `nameOf` gives the name of an application. */
function columnsOf(nameOf: (applicationId: string) => string): ComponentProps<typeof ListView<Device>>['columns'] {
  return [
    { title: 'Device', cell: (device) => <Name device={device} /> },
    {
      title: 'Application',
      visibleFrom: 'sm',
      width: '22%',
      cell: ({ applicationID }) => nameOf(applicationID),
    },
    { title: 'State', visibleFrom: 'xs', width: 170, cell: (device) => <DeviceStateCell device={device} /> },
    { title: 'Last seen', width: { base: 140, sm: 160 }, cell: ({ lastSeenAt }) => <When at={lastSeenAt} /> },
    {
      title: 'Battery',
      visibleFrom: 'xs',
      width: 160,
      cell: ({ deviceStatusBatteryLevel }) => <Battery percent={deviceStatusBatteryLevel} />,
    },
    {
      title: 'Margin',
      visibleFrom: 'sm',
      width: 110,
      isNumber: true,
      cell: ({ deviceStatusMargin }) => <Margin decibels={deviceStatusMargin} />,
    },
  ]
}

interface ExportButtonProps {
  /** Empty for all applications. */
  readonly applicationId: string
  /** Gets null when an export begins. */
  readonly onFailure: (error: unknown) => void
}

/** Saves the devices of the organization, or of the chosen application, as a table. */
function ExportButton({ applicationId, onFailure }: ExportButtonProps): ReactElement {
  const { organization } = useOrganization()
  const exporting = useMutation({
    mutationFn: async () => {
      const place = applicationId === '' ? { organizationID: organization.id } : { applicationID: applicationId }
      saveAs('devices.csv', await download(`${DEVICES_PATH}/export`, place))
    },
    onMutate: () => onFailure(null),
    onError: onFailure,
  })
  return (
    <Button
      variant="default"
      leftSection={<Icon name="download" />}
      loading={exporting.isPending}
      onClick={() => exporting.mutate()}
    >
      Export
    </Button>
  )
}

function NewDevices({ onCreate }: { readonly onCreate: () => void }): ReactElement {
  return (
    <>
      <Button component={Link} href="/import" variant="default" leftSection={<Icon name="upload" />}>
        Import
      </Button>
      <Button leftSection={<Icon name="plus" />} onClick={onCreate}>
        New device
      </Button>
    </>
  )
}

function Name({ device }: { readonly device: Device }): ReactElement {
  return (
    <>
      <Group gap="xs" wrap="nowrap">
        <Anchor component={Link} href={`/devices/${device.devEUI}`} fw={500} className="breakable">
          {device.name}
        </Anchor>
        {device.isDisabled ? (
          <Badge color="gray" variant="light" tt="none">
            disabled
          </Badge>
        ) : null}
      </Group>
      <Text size="xs" c="dimmed" ff="monospace">
        {device.devEUI}
      </Text>
    </>
  )
}

function Margin({ decibels }: { readonly decibels: number | null }): ReactElement {
  if (decibels !== null) return <>{decibels} dB</>
  return (
    <Text span c="dimmed">
      –
    </Text>
  )
}

function NoDevices({ isSearching }: { readonly isSearching: boolean }): ReactElement {
  const { isDeviceAdmin } = useOrganization()
  if (isSearching) {
    return (
      <Blank
        icon="search"
        title="No device matches"
        text="Choose another state, or search for another part of its name or its DevEUI."
      />
    )
  }
  return (
    <Blank
      icon="device"
      title="No device yet"
      text={
        isDeviceAdmin
          ? 'Create the first one above, or import many from a table.'
          : 'A device admin of the organization creates devices one by one, or imports them from a table.'
      }
    />
  )
}

function counted(total: number): string {
  return total === 1 ? 'One device.' : `${total.toLocaleString('en')} devices.`
}
