/** Whether a client has connected with the new token, and what to look at while none has. */
import { Alert, List, Loader, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { type IssuedToken, useBrokerTokens } from '../api/broker-access.ts'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { When } from '../shell/when.tsx'

/** How often it is asked whether the token was used. */
const ASKING_MS = 2_000

/** Says when the token was first used, while the page is open. */
export function FirstConnection({ token }: { readonly token: IssuedToken }): ReactElement {
  const { organization } = useOrganization()
  const { data } = useBrokerTokens(organization.id, ASKING_MS)
  const known = data?.result.find(({ id }) => id === token.id)
  if (data !== undefined && known === undefined && data.result.length < 100) {
    return (
      <Alert color="orange" variant="light" icon={<Icon name="alert" />} title="This token was revoked" role="status">
        Clients with it are refused. Create another one above.
      </Alert>
    )
  }
  if (known !== undefined && known.lastUsedAt !== null) {
    return (
      <Alert color="field" variant="light" icon={<Icon name="check" />} title="A client has connected" role="status">
        This token was last used to connect <When at={known.lastUsedAt} />.
      </Alert>
    )
  }
  return (
    <Alert
      color="gray"
      variant="light"
      icon={<Loader size={18} />}
      title="Waiting for your client to connect"
      role="status"
    >
      <Text size="sm">When it does, it is said here. If it can’t, look at these first:</Text>
      <List size="sm" mt={4}>
        <List.Item>the whole token is the user name, and the password is the word default;</List.Item>
        <List.Item>the client speaks TLS and trusts the certificate of the service;</List.Item>
        <List.Item>no other client uses the same client id: the newer one would end the older.</List.Item>
      </List>
    </Alert>
  )
}
