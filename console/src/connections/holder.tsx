import { Badge, Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { HolderFields } from '../api/broker-views.ts'

/**
 * The holder of a client's credentials: a user, a network server by the name of its credential, or
 * nobody known.
 */
export function Holder({ holder }: { readonly holder: HolderFields }): ReactElement {
  const { userID, userName, serviceCredentialID, serviceCredentialName } = holder
  if (userID !== '')
    return (
      <Text span size="sm" className="breakable">
        {userName === '' ? `user ${userID}` : userName}
      </Text>
    )
  if (serviceCredentialID === '')
    return (
      <Text span size="sm" c="dimmed">
        unproven
      </Text>
    )
  return (
    <Group gap={6} component="span">
      <Text span size="sm" className="breakable">
        {serviceCredentialName === '' ? 'a revoked credential' : serviceCredentialName}
      </Text>
      <Badge component="span" color="gray" variant="light" tt="none" size="sm">
        network server
      </Badge>
    </Group>
  )
}
