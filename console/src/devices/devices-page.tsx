/** All devices of the organization, found by name or DevEUI. */
import {
  Anchor,
  Badge,
  Button,
  Group,
  Pagination,
  ScrollArea,
  Select,
  Skeleton,
  Table,
  Text,
  TextInput,
} from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type ReactElement, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type Device, useApplications, useDevices } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { Battery } from './battery.tsx'
import { DeviceDialog } from './device-dialog.tsx'

const PAGE_SIZE = 25

/** The page. */
export function DevicesPage(): ReactElement {
  const { organization, isDeviceAdmin } = useOrganization()
  const creating = useDialog<undefined>()
  const applications = useApplications(organization.id)
  const [searchParams, setSearchParams] = useSearchParams()
  const applicationId = searchParams.get('application')
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed.trim(), 250)
  const [page, setPage] = useState(1)
  const devices = useDevices({
    organizationId: organization.id,
    applicationId: applicationId ?? undefined,
    search,
    limit: PAGE_SIZE,
    offset: (page - 1) * PAGE_SIZE,
  })
  const total = Number(devices.data?.totalCount ?? 0)
  const listed = devices.data?.result ?? []
  const nameOf = new Map(applications.data?.result.map(({ id, name }) => [id, name]))
  return (
    <Page
      title="Devices"
      lead={devices.data === undefined ? undefined : counted(total)}
      aside={
        isDeviceAdmin ? (
          <Group gap="xs">
            <Button component={Link} href="/import" variant="default" leftSection={<Icon name="upload" />}>
              Import
            </Button>
            <Button leftSection={<Icon name="plus" />} onClick={() => creating.open(undefined)}>
              New device
            </Button>
          </Group>
        ) : undefined
      }
    >
      <DeviceDialog state={creating} applicationId={applicationId ?? undefined} />
      <Group gap="sm">
        <TextInput
          aria-label="Search"
          w={{ base: '100%', xs: 300 }}
          placeholder="Search by name or DevEUI"
          leftSection={<Icon name="search" />}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            setPage(1)
          }}
        />
        <Select
          aria-label="Application"
          w={{ base: '100%', xs: 220 }}
          placeholder="All applications"
          data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={applicationId}
          onChange={(id) => {
            setSearchParams(id === null ? {} : { application: id }, { replace: true })
            setPage(1)
          }}
          clearable
          searchable
        />
      </Group>
      <Failure error={devices.error} onRetry={() => void devices.refetch()} />
      <Panel flush>
        {devices.isLoading ? <Skeleton h={320} m="lg" /> : null}
        {devices.data !== undefined && listed.length === 0 ? (
          <NoDevices isSearching={search !== '' || applicationId !== null} />
        ) : null}
        {listed.length === 0 ? null : (
          <ScrollArea type="auto">
            <Table miw={{ base: 0, sm: 680 }} verticalSpacing="sm" horizontalSpacing="lg" highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Device</Table.Th>
                  <Table.Th visibleFrom="sm">Application</Table.Th>
                  <Table.Th>Last seen</Table.Th>
                  <Table.Th visibleFrom="xs">Battery</Table.Th>
                  <Table.Th ta="right" visibleFrom="sm">
                    Margin
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {listed.map((device) => (
                  <DeviceRow
                    key={device.devEUI}
                    device={device}
                    applicationName={nameOf.get(device.applicationID) ?? device.applicationID}
                  />
                ))}
              </Table.Tbody>
            </Table>
          </ScrollArea>
        )}
      </Panel>
      {total > PAGE_SIZE ? (
        <Group justify="center">
          <Pagination
            total={Math.ceil(total / PAGE_SIZE)}
            value={page}
            onChange={setPage}
            getControlProps={(control) => ({ 'aria-label': `${control} page` })}
          />
        </Group>
      ) : null}
    </Page>
  )
}

function DeviceRow({
  device,
  applicationName,
}: {
  readonly device: Device
  readonly applicationName: string
}): ReactElement {
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Anchor component={Link} href={`/devices/${device.devEUI}`} fw={500}>
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
      </Table.Td>
      <Table.Td visibleFrom="sm">{applicationName}</Table.Td>
      <Table.Td>
        <When at={device.lastSeenAt} />
      </Table.Td>
      <Table.Td visibleFrom="xs">
        <Battery percent={device.deviceStatusBatteryLevel} />
      </Table.Td>
      <Table.Td ta="right" className="numbers" visibleFrom="sm">
        {device.deviceStatusMargin === null ? (
          <Text span c="dimmed">
            –
          </Text>
        ) : (
          `${device.deviceStatusMargin} dB`
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function NoDevices({ isSearching }: { readonly isSearching: boolean }): ReactElement {
  const { isDeviceAdmin } = useOrganization()
  if (isSearching) {
    return (
      <Blank icon="search" title="No device matches" text="Search for another part of its name, or of its DevEUI." />
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
