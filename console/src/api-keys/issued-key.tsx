/** A key for the only time that it is shown. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { CopyField } from '../shell/copy-field.tsx'
import { Icon } from '../shell/icons.tsx'
import type { IssuedKey } from './api-key.ts'

interface IssuedKeyViewProps {
  readonly issued: IssuedKey
  readonly onClose: () => void
}

/** The key, to be copied. */
export function IssuedKeyView({ issued, onClose }: IssuedKeyViewProps): ReactElement {
  return (
    <Stack>
      <Alert variant="light" color="orange" icon={<Icon name="key" />}>
        The key is shown this once. Put it where your program reads its secrets.
      </Alert>
      <CopyField label="API key" value={issued.key} />
      <Text size="sm" c="dimmed">
        The program sends it as Authorization: Bearer fg_…, and exchanges it for a broker token at
        /api/mosquitto-auth/login.
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          I have stored it
        </Button>
      </Group>
    </Stack>
  )
}
