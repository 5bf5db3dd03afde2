/**
 * Tells whether a client is connected with the new token, why a client was refused, and what to
 * check while none has come.
 */
import { Alert, Anchor, List, Loader, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { useBrokerTokens } from '../api/broker-access.ts'
import type { IssuedToken } from '../api/broker-access.ts'
import { useTokenStatus } from '../api/broker-views.ts'
import type { ClientRefusal, TokenStatus } from '../api/broker-views.ts'
import { ApiFailure } from '../api/request.ts'
import { kindWords, sentence } from '../refusals/refusal-words.ts'
import { remedyOf } from '../refusals/remedies.ts'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { When } from '../shell/when.tsx'

/** The interval of the requests about the token's clients. */
const ASKING_MS = 2_000

/**
 * Says which clients are connected with the token, and why one was refused, while the page is open.
 */
export function FirstConnection({ token }: { readonly token: IssuedToken }): ReactElement {
  const { organization } = useOrganization()
  const tokens = useBrokerTokens(organization.id, ASKING_MS)
  const status = useTokenStatus(token.id, ASKING_MS)
  if (status.error instanceof ApiFailure && status.error.status === 404) {
    return (
      <Alert color="orange" variant="light" icon={<Icon name="alert" />} title="This token was revoked" role="status">
        Clients with it are refused. Create another one above.
      </Alert>
    )
  }
  const lastUsedAt = tokens.data?.result.find(({ id }) => id === token.id)?.lastUsedAt ?? null
  const lastRefusal = status.data?.lastRefusal ?? null
  const isConnected = (status.data?.connectionCount ?? 0) > 0
  return (
    <Stack gap="sm">
      {status.data !== undefined && isConnected ? <Connected status={status.data} /> : null}
      {!isConnected && lastUsedAt !== null ? <WasConnected lastUsedAt={lastUsedAt} /> : null}
      {lastRefusal === null ? null : <Refused refusal={lastRefusal} />}
      {!isConnected && lastUsedAt === null && lastRefusal === null ? <Waiting /> : null}
    </Stack>
  )
}

function Connected({ status }: { readonly status: TokenStatus }): ReactElement {
  const [newest] = status.connections
  const more = status.connectionCount - 1
  return (
    <Alert color="field" variant="light" icon={<Icon name="check" />} title="A client has connected" role="status">
      {newest === undefined ? null : (
        <>
          <b className="breakable">{newest.clientID}</b> is connected from {newest.address}, since{' '}
          <When at={newest.openedAt} />
          {more > 0 ? `, and ${more} more with the same token` : ''}.
        </>
      )}
    </Alert>
  )
}

function WasConnected({ lastUsedAt }: { readonly lastUsedAt: string }): ReactElement {
  return (
    <Alert color="gray" variant="light" icon={<Icon name="check" />} title="A client has connected" role="status">
      This token was last used to connect <When at={lastUsedAt} />. No client is connected with it now.
    </Alert>
  )
}

function Refused({ refusal }: { readonly refusal: ClientRefusal }): ReactElement {
  const remedy = remedyOf(refusal.code)
  return (
    <Alert
      color="orange"
      variant="light"
      icon={<Icon name="alert" />}
      title={`${kindWords(refusal.kind)}: ${sentence(refusal)}`}
      role="status"
    >
      <Text size="sm" className="breakable">
        {remedy === undefined ? '' : `${remedy} `}
        {refusal.topic === '' ? '' : `The topic was ${refusal.topic}. `}
        {refusal.clientID === '' ? 'A client' : refusal.clientID} was refused <When at={refusal.at} />
        {refusal.count > 1 ? `, ${refusal.count} times` : ''}.{' '}
        <Anchor component={Link} href="/refusals" size="sm" underline="always">
          All refusals
        </Anchor>
      </Text>
    </Alert>
  )
}

function Waiting(): ReactElement {
  return (
    <Alert
      color="gray"
      variant="light"
      icon={<Loader size={18} />}
      title="Waiting for your client to connect"
      role="status"
    >
      <Text size="sm">When it does, or is refused, it is said here. If nothing happens, look at these first:</Text>
      <List size="sm" mt={4}>
        <List.Item>the whole token is the user name, and the password is the word default;</List.Item>
        <List.Item>the client speaks TLS and trusts the certificate of the service;</List.Item>
        <List.Item>no other client uses the same client id: the newer one would end the older.</List.Item>
      </List>
    </Alert>
  )
}
