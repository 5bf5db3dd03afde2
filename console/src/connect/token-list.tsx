/** The tokens in force: their holders, their last use, and their end. */
import { Badge, Button, Group, ScrollArea, Skeleton, Table, Text, Tooltip, VisuallyHidden } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { useProfile } from '../api/account.ts'
import { brokerTokensKey, revokeBrokerToken, useBrokerTokens } from '../api/broker-access.ts'
import type { BrokerToken } from '../api/broker-access.ts'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { scopeWords } from './scope-words.ts'
import { kindWords, sentence } from '../refusals/refusal-words.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'

const ASKING_MS = 10_000

/** The person's own tokens; for admins of the organization, all tokens of the organization. */
export function TokenList({ newTokenId }: { readonly newTokenId: string | undefined }): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const tokens = useBrokerTokens(organization.id, ASKING_MS)
  const listed = tokens.data?.result ?? []
  const more = Number(tokens.data?.totalCount ?? 0) - listed.length
  return (
    <Panel
      flush
      title="Tokens"
      lead={
        isOrganizationAdmin
          ? 'The tokens of all users of this organization. Revoking a token ends its connections at once.'
          : 'Revoking a token ends its connections at once.'
      }
    >
      <Failure error={tokens.error} onRetry={() => void tokens.refetch()} />
      {tokens.isLoading ? <Skeleton h={80} m="lg" /> : null}
      {tokens.data !== undefined && listed.length === 0 ? (
        <Blank
          icon="key"
          title="No token is alive"
          text="Create one above; it is listed here until it expires or is revoked."
        />
      ) : null}
      {listed.length === 0 ? null : (
        <ScrollArea type="auto">
          <Table miw={620} verticalSpacing="sm" horizontalSpacing="lg">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Token</Table.Th>
                {isOrganizationAdmin ? <Table.Th>Of</Table.Th> : null}
                <Table.Th>For</Table.Th>
                <Table.Th>Created</Table.Th>
                <Table.Th>Last used</Table.Th>
                <Table.Th>Expires</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {listed.map((token) => (
                <TokenRow key={token.id} token={token} isNew={token.id === newTokenId} />
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      {more > 0 ? (
        <Text size="sm" c="dimmed" p="lg">
          {more} older ones are not shown.
        </Text>
      ) : null}
    </Panel>
  )
}

function TokenRow({ token, isNew }: { readonly token: BrokerToken; readonly isNew: boolean }): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const queryClient = useQueryClient()
  const revocation = useMutation({
    mutationFn: () => revokeBrokerToken(token.id),
    onError: (error) => notifications.show({ color: 'red', title: 'Not revoked', message: sentenceOf(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: brokerTokensKey(organization.id) }),
  })
  return (
    <Table.Tr>
      <Table.Td>
        <Text span ff="monospace" size="sm">
          {token.id.slice(0, 8)}
        </Text>
        {isNew ? (
          <Badge ml="xs" variant="light" tt="none">
            new
          </Badge>
        ) : null}
      </Table.Td>
      {isOrganizationAdmin ? (
        <Table.Td>{token.apiKeyID === '' ? <Holder userId={token.userID} /> : `API key fg_${token.apiKeyID}`}</Table.Td>
      ) : null}
      <Table.Td>{scopeWords(token.scope)}</Table.Td>
      <Table.Td>
        <When at={token.issuedAt} />
      </Table.Td>
      <Table.Td>
        <Use token={token} />
      </Table.Td>
      <Table.Td>
        <When at={token.expiresAt} />
      </Table.Td>
      <Table.Td ta="right">
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          leftSection={<Icon name="trash" />}
          loading={revocation.isPending}
          onClick={() => revocation.mutate()}
          aria-label={`Revoke ${token.id.slice(0, 8)}`}
        >
          Revoke
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}

/**
 * Says whether clients are connected with the token, when the last one was, and whether one was
 * refused after that.
 */
function Use({ token }: { readonly token: BrokerToken }): ReactElement {
  const { connections, lastRefusal, lastUsedAt } = token
  return (
    <Group gap={6}>
      {connections > 0 ? (
        <Badge variant="light" tt="none">
          {connections === 1 ? 'connected' : `${connections} connected`}
        </Badge>
      ) : (
        <When at={lastUsedAt} never="not yet" />
      )}
      {lastRefusal === null ? null : (
        <Tooltip label={`${kindWords(lastRefusal.kind)}: ${sentence(lastRefusal)}`} multiline maw={320}>
          <Badge component={Link} href="/refusals" variant="light" color="orange" tt="none">
            refused
          </Badge>
        </Tooltip>
      )}
    </Group>
  )
}

interface Member {
  readonly userID: string
  readonly username: string
}

/**
 * The user name of a token's holder, where it is known: a global admin who holds one may not be a
 * member.
 */
function Holder({ userId }: { readonly userId: string }): ReactElement {
  const { organization } = useOrganization()
  const profile = useProfile()
  const members = useQuery({
    queryKey: ['member-names', organization.id],
    queryFn: ({ signal }) =>
      request<Listed<Member>>('GET', `/api/organizations/${organization.id}/users`, { query: { limit: 1000 }, signal }),
    staleTime: 60_000,
  })
  if (profile.data?.user.id === userId) return <>you</>
  return <>{members.data?.result.find(({ userID }) => userID === userId)?.username ?? `user ${userId}`}</>
}
