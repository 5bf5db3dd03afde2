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
import { useDebouncedCallback } from '@mantine/hooks'
import { useCallback, useEffect, useState } from 'react'
import type { ReactElement } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useApplications, useDevices } from '../api/directory.ts'
import type { Device } from '../api/directory.ts'
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

/** Without a key pressed, after which what is typed is searched for. */
const TYPING_MS = 150

/** The page. */
export function DevicesPage(): ReactElement {
  const { organization, isDeviceAdmin } = useOrganization()
  const creating = useDialog<undefined>()
  const applications = useApplications(organization.id)
  const { applicationId, search, page, show } = useShown()
  const [typed, setTyped] = useTyped(search, (text) => show({ applicationId, search: text, page: 1 }))
  const devices = useDevices({
    organizationId: organization.id,
    applicationId: applicationId ?? undefined,
    search: search.trim(),
    limit: PAGE_SIZE,
    offset: (page - 1) * PAGE_SIZE,
  })
  const total = Number(devices.data?.totalCount ?? 0)
  const listed = devices.data?.result ?? []
  const lastPage = Math.max(1, Math.ceil(total / PAGE_SIZE))
  // Of a page that is no more, because its devices were deleted, the one before is shown.
  const isBeyond = devices.isSuccess && !devices.isPlaceholderData && page > lastPage
  useEffect(() => {
    if (isBeyond) show({ applicationId, search, page: lastPage })
  }, [isBeyond, show, applicationId, search, lastPage])
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
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Select
          aria-label="Application"
          w={{ base: '100%', xs: 220 }}
          placeholder="All applications"
          data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={applicationId}
          onChange={(id) => show({ applicationId: id, search: typed, page: 1 })}
          clearable
          searchable
        />
      </Group>
      <Failure error={devices.error} onRetry={() => void devices.refetch()} />
      <Panel flush>
        {devices.isLoading ? <Skeleton h={320} m="lg" /> : null}
        {devices.data !== undefined && total === 0 ? (
          <NoDevices isSearching={search.trim() !== '' || applicationId !== null} />
        ) : null}
        {listed.length === 0 ? null : (
          <ScrollArea type="auto">
            <Table
              miw={{ base: 0, sm: 680 }}
              layout="fixed"
              verticalSpacing="sm"
              horizontalSpacing="lg"
              highlightOnHover
            >
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Device</Table.Th>
                  <Table.Th w="22%" visibleFrom="sm">
                    Application
                  </Table.Th>
                  <Table.Th w={{ base: 140, sm: 160 }}>Last seen</Table.Th>
                  <Table.Th w={160} visibleFrom="xs">
                    Battery
                  </Table.Th>
                  <Table.Th w={110} ta="right" visibleFrom="sm">
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
            total={lastPage}
            value={page}
            onChange={(turned) => show({ applicationId, search, page: turned })}
            getControlProps={(control) => ({ 'aria-label': `${control} page` })}
          />
        </Group>
      ) : null}
    </Page>
  )
}

interface Shown {
  readonly applicationId: string | null
  readonly search: string
  readonly page: number
}

/**
 * What the list shows stands in the address: the way back from a device leads to the same rows, and
 * the address can be handed on.
 */
function useShown(): Shown & { readonly show: (shown: Shown) => void } {
  const [searchParams, setSearchParams] = useSearchParams()
  const number = Number(searchParams.get('page') ?? 1)
  const show = useCallback(
    ({ applicationId, search, page }: Shown): void => {
      const entries = { application: applicationId ?? '', search, page: page === 1 ? '' : String(page) }
      setSearchParams(
        Object.entries(entries).filter(([, value]) => value !== ''),
        { replace: true },
      )
    },
    [setSearchParams],
  )
  return {
    applicationId: searchParams.get('application'),
    search: searchParams.get('search') ?? '',
    page: Number.isSafeInteger(number) && number > 0 ? number : 1,
    show,
  }
}

/**
 * What stands in the field: what is searched for, until something else is typed, which is searched
 * for when the hand rests.
 */
function useTyped(search: string, onRest: (text: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState<string>()
  const rest = useDebouncedCallback((text: string) => {
    setTyped(undefined)
    onRest(text)
  }, TYPING_MS)
  const type = (text: string): void => {
    setTyped(text)
    rest(text)
  }
  return [typed ?? search, type]
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
