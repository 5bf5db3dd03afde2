/** One device: its events, its signal, and its commands. */
import { Alert, Anchor, Badge, Breadcrumbs, Group, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ReactElement, ReactNode } from 'react'
import { Link, useParams } from 'wouter'
import { deviceTopics } from '../api/broker-access.ts'
import { useApplications, useDevice } from '../api/directory.ts'
import type { DeviceDetail } from '../api/directory.ts'
import { ConnectionBadge } from '../broker/connection-badge.tsx'
import { useBroker, useBrokerState } from '../broker/use-broker.ts'
import { useLiveEvents } from '../broker/use-live-events.ts'
import { whyHref } from '../diagnosis/question.ts'
import { EventView } from '../live/event-view.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { Battery } from './battery.tsx'
import { CommandPanel } from './command-panel.tsx'
import { DeviceActions } from './device-actions.tsx'
import { DevicePlots } from './device-plots.tsx'
import { QueuePanel } from './queue-panel.tsx'

/** The page. */
export function DevicePage(): ReactElement {
  const { devEui } = useParams<{ devEui: string }>()
  const { organization, isDeviceAdmin } = useOrganization()
  const detail = useDevice(devEui)
  const isElsewhere = detail.data !== undefined && detail.data.organizationID !== organization.id
  return (
    <Page
      title={detail.data?.device.name ?? 'Device'}
      lead={<Path devEui={devEui} detail={detail.data} />}
      aside={
        isDeviceAdmin && detail.data !== undefined && !isElsewhere ? (
          <DeviceActions device={detail.data.device} />
        ) : undefined
      }
    >
      <Failure error={detail.error} onRetry={() => void detail.refetch()} />
      {detail.isLoading ? <Skeleton h={320} /> : null}
      {isElsewhere ? (
        <Alert color="orange" title="This device belongs to another organization">
          Switch the organization at the top to see its events.
        </Alert>
      ) : detail.data === undefined ? null : (
        <DeviceContent detail={detail.data} />
      )}
    </Page>
  )
}

function Path({
  devEui,
  detail,
}: {
  readonly devEui: string
  readonly detail: DeviceDetail | undefined
}): ReactElement {
  return (
    <Breadcrumbs separatorMargin={6}>
      <Anchor component={Link} href="/devices">
        Devices
      </Anchor>
      <Text span ff="monospace" size="sm">
        {devEui}
      </Text>
      <Anchor component={Link} href={whyHref('devEui', devEui)}>
        Why no data?
      </Anchor>
      {detail?.device.isDisabled === true ? (
        <Badge color="gray" variant="light" tt="none">
          disabled
        </Badge>
      ) : null}
    </Breadcrumbs>
  )
}

function DeviceContent({ detail }: { readonly detail: DeviceDetail }): ReactElement {
  const { device, organizationID } = detail
  const { isReadOnly } = useOrganization()
  const topics = useQuery({
    queryKey: ['device-topics', device.devEUI, isReadOnly],
    queryFn: () => deviceTopics(organizationID, device.devEUI, isReadOnly),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const connection = useBroker()
  const filters = useMemo(() => (topics.data === undefined ? [] : [topics.data.events]), [topics.data])
  const state = useBrokerState(connection, filters)
  const { events } = useLiveEvents({
    connection,
    topicFilters: filters,
    isConnected: state.phase === 'connected',
    history: { devEui: device.devEUI },
    isPaused: false,
  })
  const newestFirst = useMemo(() => events.toReversed(), [events])
  return (
    <>
      <Failure error={topics.error} />
      <Facts detail={detail} />
      <DevicePlots devEui={device.devEUI} events={events} />
      <Group justify="space-between" align="flex-end">
        <div>
          <Text component="h2" fz="h2" fw={650}>
            Events
          </Text>
          <Text c="dimmed" size="sm">
            The newest stored events, and each new event as it arrives.
          </Text>
        </div>
        <ConnectionBadge state={state} />
      </Group>
      <EventView events={newestFirst} isFiltered={false} rows={8} withDevice={false} />
      {topics.data?.commands === undefined ? null : (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <CommandPanel devEui={device.devEUI} topicName={topics.data.commands} connection={connection} />
          <QueuePanel devEui={device.devEUI} events={events} />
        </SimpleGrid>
      )}
    </>
  )
}

function Facts({ detail }: { readonly detail: DeviceDetail }): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const { device } = detail
  const application = applications.data?.result.find(({ id }) => id === device.applicationID)
  return (
    <Panel>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }}>
        <Fact name="Application">{application?.name ?? device.applicationID}</Fact>
        <Fact name="Last seen">
          <When at={detail.lastSeenAt} />
        </Fact>
        <Fact name="Battery">
          <Battery percent={detail.deviceStatusBatteryLevel} />
        </Fact>
        <Fact name="Margin">{detail.deviceStatusMargin === null ? '–' : `${detail.deviceStatusMargin} dB`}</Fact>
        <Fact name="Profile">{device.deviceProfileName === '' ? '–' : device.deviceProfileName}</Fact>
      </SimpleGrid>
      {device.description === '' ? null : (
        <Text mt="md" c="dimmed">
          {device.description}
        </Text>
      )}
      <Group gap={6} mt={Object.keys(device.tags).length === 0 ? 0 : 'md'}>
        {Object.entries(device.tags).map(([name, value]) => (
          <Badge key={name} variant="default" tt="none" fw={500}>
            {name}: {value}
          </Badge>
        ))}
      </Group>
    </Panel>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="div" fw={500} className="breakable">
        {children}
      </Text>
    </div>
  )
}
