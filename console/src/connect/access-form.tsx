/** The first step of Connect: what the token is for, and how long it lives. */
import { Button, Checkbox, Group, MultiSelect, SegmentedControl, Select, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import {
  applicationTopics,
  brokerTokensKey,
  deviceTopics,
  issueBrokerToken,
  organizationTopics,
} from '../api/broker-access.ts'
import type { Deployment, IssuedToken, Topics } from '../api/broker-access.ts'
import type { TokenScope } from '../api/token-scope.ts'
import { useApplications } from '../api/directory.ts'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { DeviceSelect } from './device-select.tsx'

/** A token with its topics. */
export interface Access {
  readonly token: IssuedToken
  readonly scope: TokenScope
  readonly topics: Topics
}

interface AccessFormProps {
  readonly deployment: Deployment
  readonly onAccess: (access: Access) => void
}

/** A token is for the organization, for one application, or for one device. */
type Reach = 'organization' | 'application' | 'device'

/** The kinds of event that are offered. Without a choice the token is for all. */
const EVENT_KINDS = ['up', 'join', 'ack', 'error', 'status', 'location', 'txack', 'log', 'integration', 'state']

const LIFETIMES = [
  [3600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '1 week'],
  [2_592_000, '30 days'],
  [31_536_000, '1 year'],
] as const

/** Asks for a token and its topics when it is submitted. */
export function AccessForm({ deployment, onAccess }: AccessFormProps): ReactElement {
  const { organization, isReadOnly } = useOrganization()
  const applications = useApplications(organization.id)
  const [reach, setReach] = useState<Reach>('application')
  const [eventKinds, setEventKinds] = useState<string[]>([])
  const [onlyReads, setOnlyReads] = useState(false)
  const [chosenApplication, setApplication] = useState<string | null>(null)
  const [devEui, setDevEui] = useState<string | null>(null)
  const [lifetime, setLifetime] = useState('86400')
  // Most organizations have few applications, so the first one is chosen already.
  const applicationId = chosenApplication ?? applications.data?.result[0]?.id ?? null

  const chosen = { organization: organization.id, application: applicationId, device: devEui }[reach]
  const access = useAccess(organization.id, onAccess)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (chosen === null) return
        const limits = { eventKinds, isReadOnly: isReadOnly || onlyReads }
        access.mutate({ reach, id: chosen, ttlSeconds: Number(lifetime), ...limits })
      }}
    >
      <Stack>
        <SegmentedControl
          aria-label="What to connect to"
          value={reach}
          onChange={setReach}
          data={[
            { value: 'organization', label: 'All applications' },
            { value: 'application', label: 'A whole application' },
            { value: 'device', label: 'One device' },
          ]}
        />
        <Group align="flex-end" grow preventGrowOverflow={false} gap="md">
          {reach === 'organization' ? null : (
            <Select
              label="Application"
              miw={200}
              data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
              value={applicationId}
              onChange={(id) => {
                setApplication(id)
                setDevEui(null)
              }}
              searchable
              allowDeselect={false}
              nothingFoundMessage="No such application"
            />
          )}
          {reach === 'device' ? (
            <DeviceSelect applicationId={applicationId} value={devEui} onChange={setDevEui} />
          ) : null}
          <KindsSelect value={eventKinds} onChange={setEventKinds} />
          <LifetimeSelect deployment={deployment} value={lifetime} onChange={setLifetime} />
          <Button type="submit" loading={access.isPending} disabled={chosen === null}>
            Create token
          </Button>
        </Group>
        <ReadingOnly isReadOnly={isReadOnly} value={onlyReads} onChange={setOnlyReads} />
        <Failure error={access.error ?? applications.error} />
      </Stack>
    </form>
  )
}

interface KindsSelectProps {
  readonly value: string[]
  readonly onChange: (kinds: string[]) => void
}

function KindsSelect({ value, onChange }: KindsSelectProps): ReactElement {
  return (
    <MultiSelect
      label="Kinds of event"
      miw={180}
      placeholder={value.length === 0 ? 'All kinds' : ''}
      data={EVENT_KINDS}
      value={value}
      onChange={onChange}
    />
  )
}

interface LifetimeSelectProps {
  readonly deployment: Deployment
  /** Seconds, as digits. */
  readonly value: string
  readonly onChange: (seconds: string) => void
}

function LifetimeSelect({ deployment, value, onChange }: LifetimeSelectProps): ReactElement {
  return (
    <Select
      label="The token lives"
      miw={140}
      data={LIFETIMES.filter(([seconds]) => seconds <= deployment.brokerTokenMaximumTtlSeconds).map(
        ([seconds, label]) => ({ value: String(seconds), label }),
      )}
      value={value}
      onChange={(seconds) => onChange(seconds ?? '86400')}
      allowDeselect={false}
    />
  )
}

interface ReadingOnlyProps {
  /** The person is a read-only member, and has no choice. */
  readonly isReadOnly: boolean
  readonly value: boolean
  readonly onChange: (value: boolean) => void
}

function ReadingOnly({ isReadOnly, value, onChange }: ReadingOnlyProps): ReactElement {
  return (
    <Checkbox
      label="For reading only"
      description={isReadOnly ? 'You are a read-only member.' : 'The token sends no commands.'}
      checked={isReadOnly || value}
      disabled={isReadOnly}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}

interface Wish {
  readonly reach: Reach
  /** The id of the organization or the application, or the DevEUI. */
  readonly id: string
  readonly ttlSeconds: number
  /** Empty for all. */
  readonly eventKinds: readonly string[]
  readonly isReadOnly: boolean
}

/** The limits that a token of the wish has. */
function scopeOf({ reach, id, eventKinds, isReadOnly }: Wish): TokenScope {
  return {
    ...(reach === 'organization' ? { reachesAllApplications: true } : {}),
    ...(reach === 'application' ? { applicationIds: [id] } : {}),
    ...(reach === 'device' ? { devEuis: [id] } : {}),
    ...(eventKinds.length > 0 ? { eventKinds } : {}),
    ...(isReadOnly ? { isReadOnly: true } : {}),
  }
}

function topicsOf(organizationId: string, { reach, id, isReadOnly }: Wish): Promise<Topics> {
  if (reach === 'organization') return organizationTopics(id)
  return reach === 'device' ? deviceTopics(organizationId, id, isReadOnly) : applicationTopics(organizationId, id)
}

/** Asks for the topics and then for a token, so that an unknown device leaves no token behind. */
function useAccess(organizationId: string, onAccess: (access: Access) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (wish: Wish): Promise<Access> => {
      const topics = await topicsOf(organizationId, wish)
      const scope = scopeOf(wish)
      return { token: await issueBrokerToken(organizationId, wish.ttlSeconds, scope), scope, topics }
    },
    onSuccess: async (issued) => {
      onAccess(issued)
      await queryClient.invalidateQueries({ queryKey: brokerTokensKey(organizationId) })
    },
  })
}
