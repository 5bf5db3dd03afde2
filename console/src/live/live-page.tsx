/** Events as they come. */
import { Anchor, Button, Chip, Group, Select, Text, TextInput } from '@mantine/core'
import { useDeferredValue, useMemo, useState } from 'react'
import type { ReactElement } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { applicationTopics } from '../api/broker-access.ts'
import { useApplications } from '../api/directory.ts'
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
/** Applications that are watched at once; of an organization with more, one has to be chosen. */
const MOST_APPLICATIONS = 50

const NONE: readonly string[] = []

/** The page. */
export function LivePage(): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const applications = useApplications(organization.id)
  const offered = applications.data?.result ?? []
  const [chosen, setChosen] = useState<string | null>(null)
  const applicationId = chosen ?? (offered.length > MOST_APPLICATIONS ? (offered[0]?.id ?? ALL) : ALL)
  const watched = applicationId === ALL ? offered.map(({ id }) => id).slice(0, MOST_APPLICATIONS) : [applicationId]
  const filters = useTopicFilters(organization.id, applications.isSuccess ? watched : [])

  const topicFilters = filters.data ?? NONE

  const [isPaused, setPaused] = useState(false)
  const connection = useBroker()
  const state = useBrokerState(connection, topicFilters)
  const isConnected = state.phase === 'connected'
  const history = { applicationIds: watched }
  const live = useLiveEvents({ connection, topicFilters, isConnected, history, isPaused })
  const [kinds, setKinds] = useState<string[]>([])
  const [search, setSearch] = useState('')
  const shown = useShown(live.events, kinds, useDeferredValue(search.trim().toLowerCase()))

  if (applications.isSuccess && offered.length === 0) {
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
  return (
    <Page
      title="Live"
      lead="Every event the moment it arrives, over the same broker as your own clients."
      aside={<ConnectionBadge state={state} />}
    >
      <Failure error={applications.error ?? filters.error} />
      {state.phase === 'refused' ? <Failure error={new Error(state.reason)} /> : null}
      <Group gap="sm" align="flex-end">
        <Select
          label="Application"
          w={{ base: '100%', xs: 220 }}
          data={[
            ...(offered.length > MOST_APPLICATIONS ? [] : [{ value: ALL, label: 'All applications' }]),
            ...offered.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={applicationId}
          onChange={(value) => {
            setChosen(value)
            live.clear()
          }}
          allowDeselect={false}
          searchable
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
        <Chip.Group multiple value={kinds} onChange={setKinds}>
          <Group gap={6} role="group" aria-label="Kinds of event">
            {EVENT_KINDS.map((kind) => (
              <Chip key={kind} value={kind} size="xs" variant="light">
                {kind}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <Text size="sm" c="dimmed" className="numbers">
          {live.receivedCount.toLocaleString('en')} received · {live.perSecond} per second
        </Text>
      </Group>
      <EventView events={shown} isFiltered={kinds.length > 0 || search !== ''} />
    </Page>
  )
}

/** The service is asked for each topic; none is guessed. */
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

/** Those that pass the filters, newest first. */
function useShown(events: readonly LiveEvent[], kinds: readonly string[], search: string): readonly LiveEvent[] {
  return useMemo(() => {
    const wanted = new Set(kinds)
    const passes = ({ kind, devEui, deviceName }: LiveEvent): boolean =>
      (wanted.size === 0 || wanted.has(kind)) &&
      (search === '' || devEui.includes(search) || deviceName.toLowerCase().includes(search))
    return events.filter(passes).toReversed()
  }, [events, kinds, search])
}
