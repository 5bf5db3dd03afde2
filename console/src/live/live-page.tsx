/** The events of the organization, live. */
import { Anchor, Button, Chip, Group, Select, Text, TextInput } from '@mantine/core'
import { useDeferredValue, useMemo, useState } from 'react'
import type { ReactElement } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { applicationTopics } from '../api/broker-access.ts'
import { useApplications } from '../api/directory.ts'
import type { Application } from '../api/directory.ts'
import { ConnectionBadge } from '../broker/connection-badge.tsx'
import { EVENT_KINDS } from '../broker/live-event.ts'
import type { LiveEvent } from '../broker/live-event.ts'
import { useBroker, useBrokerState } from '../broker/use-broker.ts'
import { useLiveEvents } from '../broker/use-live-events.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { EventView } from './event-view.tsx'

const ALL = 'all'
/** The page watches this many applications at once. With more applications, one is chosen. */
const MOST_APPLICATIONS = 50

const NONE: readonly string[] = []

/** The page. */
export function LivePage(): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const offered = applications.data?.result ?? []
  const [chosen, setChosen] = useState<string | null>(null)
  const applicationId = chosen ?? (offered.length > MOST_APPLICATIONS ? (offered[0]?.id ?? ALL) : ALL)
  const watched = applicationId === ALL ? offered.map(({ id }) => id).slice(0, MOST_APPLICATIONS) : [applicationId]
  const [isPaused, setPaused] = useState(false)
  const { state, error, live } = useWatched(organization.id, applications.isSuccess ? watched : [], isPaused)
  const [kinds, setKinds] = useState<string[]>([])
  const [search, setSearch] = useState('')
  const shown = useShown(live.events, kinds, useDeferredValue(search.trim().toLowerCase()))

  if (applications.isSuccess && offered.length === 0) return <NothingToWatch />
  return (
    <Page
      title="Live"
      lead="Every event the moment it arrives, over the same broker as your own clients."
      aside={<ConnectionBadge state={state} />}
    >
      <Failure error={applications.error ?? error} />
      {state.phase === 'refused' ? <Failure error={new Error(state.reason)} /> : null}
      <Group gap="sm" align="flex-end">
        <ApplicationSelect
          applications={offered}
          value={applicationId}
          onChange={(id) => {
            setChosen(id)
            live.clear()
          }}
        />
        <TextInput
          label="Device"
          w={{ base: '100%', xs: 220 }}
          placeholder="Name or DevEUI"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          leftSection={<Icon name="search" />}
        />
        <Group gap="xs" ml={{ base: 0, md: 'auto' }}>
          <Button
            variant={isPaused ? 'filled' : 'default'}
            leftSection={<Icon name={isPaused ? 'play' : 'pause'} />}
            onClick={() => setPaused(!isPaused)}
            aria-pressed={isPaused}
          >
            {isPaused ? 'Go on' : 'Pause'}
          </Button>
          <Button variant="default" onClick={live.clear}>
            Clear
          </Button>
        </Group>
      </Group>
      <Group justify="space-between" gap="sm">
        <KindFilter kinds={kinds} onChange={setKinds} />
        <Text size="sm" c="dimmed" className="numbers">
          {live.receivedCount.toLocaleString('en')} received · {live.perSecond} per second
        </Text>
      </Group>
      <EventView events={shown} isFiltered={kinds.length > 0 || search !== ''} />
    </Page>
  )
}

function NothingToWatch(): ReactElement {
  const { isOrganizationAdmin } = useOrganization()
  return (
    <Page title="Live">
      <Blank
        icon="activity"
        title="Nothing to watch yet"
        text={`Events come from the devices of applications, and there is no application yet. ${isOrganizationAdmin ? 'Create the first one; then add devices to it.' : 'An admin of the organization creates the first one.'}`}
        action={
          isOrganizationAdmin ? (
            <Anchor component={Link} href="/applications">
              To the applications
            </Anchor>
          ) : undefined
        }
      />
    </Page>
  )
}

interface ApplicationSelectProps {
  readonly applications: readonly Application[]
  /** The id of an application, or `ALL`. */
  readonly value: string
  readonly onChange: (applicationId: string | null) => void
}

function ApplicationSelect({ applications, value, onChange }: ApplicationSelectProps): ReactElement {
  return (
    <Select
      label="Application"
      w={{ base: '100%', xs: 220 }}
      data={[
        ...(applications.length > MOST_APPLICATIONS ? [] : [{ value: ALL, label: 'All applications' }]),
        ...applications.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      value={value}
      onChange={onChange}
      allowDeselect={false}
      searchable
    />
  )
}

interface KindFilterProps {
  readonly kinds: string[]
  readonly onChange: (kinds: string[]) => void
}

function KindFilter({ kinds, onChange }: KindFilterProps): ReactElement {
  return (
    <Chip.Group multiple value={kinds} onChange={onChange}>
      <Group gap={6} role="group" aria-label="Kinds of event">
        {EVENT_KINDS.map((kind) => (
          <Chip key={kind} value={kind} size="xs" variant="light">
            {kind}
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  )
}

/** The events of applications, and the state of the connection that brings them. */
function useWatched(organizationId: string, applicationIds: readonly string[], isPaused: boolean) {
  const filters = useTopicFilters(organizationId, applicationIds)
  const topicFilters = filters.data ?? NONE
  const connection = useBroker()
  const state = useBrokerState(connection, topicFilters)
  const isConnected = state.phase === 'connected'
  const live = useLiveEvents({ connection, topicFilters, isConnected, history: { applicationIds }, isPaused })
  return { state, error: filters.error, live }
}

/** Asks the service for the topics. The console guesses none. */
function useTopicFilters(organizationId: string, applicationIds: readonly string[]) {
  return useQuery({
    queryKey: ['event-topics', organizationId, applicationIds],
    enabled: applicationIds.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const topics = await Promise.all(applicationIds.map((id) => applicationTopics(organizationId, id)))
      return topics.map(({ events }) => events)
    },
  })
}

/** The events that pass the filters, newest first. */
function useShown(events: readonly LiveEvent[], kinds: readonly string[], search: string): readonly LiveEvent[] {
  return useMemo(() => {
    const wanted = new Set(kinds)
    const passes = ({ kind, devEui, deviceName }: LiveEvent): boolean =>
      (wanted.size === 0 || wanted.has(kind)) &&
      (search === '' || devEui.includes(search) || deviceName.toLowerCase().includes(search))
    return events.filter(passes).toReversed()
  }, [events, kinds, search])
}
