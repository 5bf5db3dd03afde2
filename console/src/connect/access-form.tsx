/** The first step of Connect: the application or device, and the life of the token. */
import { Button, Group, SegmentedControl, Select, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { applicationTopics, brokerTokensKey, deviceTopics, issueBrokerToken } from '../api/broker-access.ts'
import type { Deployment, IssuedToken, Topics } from '../api/broker-access.ts'
import { useApplications } from '../api/directory.ts'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { DeviceSelect } from './device-select.tsx'

/** A token with its topics. */
export interface Access {
  readonly token: IssuedToken
  readonly topics: Topics
}

interface AccessFormProps {
  readonly deployment: Deployment
  readonly onAccess: (access: Access) => void
}

/** A token is for a whole application or for one device. */
type Scope = 'application' | 'device'

const LIFETIMES = [
  [3600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '1 week'],
  [2_592_000, '30 days'],
  [31_536_000, '1 year'],
] as const

/** Asks for a token and its topics when it is submitted. */
export function AccessForm({ deployment, onAccess }: AccessFormProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [scope, setScope] = useState<Scope>('application')
  const [chosenApplication, setApplication] = useState<string | null>(null)
  const [devEui, setDevEui] = useState<string | null>(null)
  const [lifetime, setLifetime] = useState('86400')
  // Most organizations have few applications, so the first one is chosen already.
  const applicationId = chosenApplication ?? applications.data?.result[0]?.id ?? null

  const chosen = scope === 'device' ? devEui : applicationId
  const access = useAccess(organization.id, onAccess)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (chosen !== null) access.mutate({ scope, id: chosen, ttlSeconds: Number(lifetime) })
      }}
    >
      <Stack>
        <SegmentedControl
          aria-label="What to connect to"
          value={scope}
          onChange={setScope}
          data={[
            { value: 'application', label: 'A whole application' },
            { value: 'device', label: 'One device' },
          ]}
        />
        <Group align="flex-end" grow preventGrowOverflow={false} gap="md">
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
          {scope === 'device' ? (
            <DeviceSelect applicationId={applicationId} value={devEui} onChange={setDevEui} />
          ) : null}
          <Select
            label="The token lives"
            miw={140}
            data={LIFETIMES.filter(([seconds]) => seconds <= deployment.brokerTokenMaximumTtlSeconds).map(
              ([seconds, label]) => ({ value: String(seconds), label }),
            )}
            value={lifetime}
            onChange={(value) => setLifetime(value ?? '86400')}
            allowDeselect={false}
          />
          <Button type="submit" loading={access.isPending} disabled={chosen === null}>
            Create token
          </Button>
        </Group>
        <Failure error={access.error ?? applications.error} />
      </Stack>
    </form>
  )
}

interface Wish {
  readonly scope: Scope
  /** The application's id or the DevEUI. */
  readonly id: string
  readonly ttlSeconds: number
}

/** Asks for the topics and then for a token, so that an unknown device leaves no token behind. */
function useAccess(organizationId: string, onAccess: (access: Access) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({ scope, id, ttlSeconds }: Wish): Promise<Access> => {
      const topics = await (scope === 'device' ? deviceTopics : applicationTopics)(organizationId, id)
      return { token: await issueBrokerToken(organizationId, ttlSeconds), topics }
    },
    onSuccess: async (issued) => {
      onAccess(issued)
      await queryClient.invalidateQueries({ queryKey: brokerTokensKey(organizationId) })
    },
  })
}
