/** The API keys by which programs log in. */
import { Badge, Button, Group, Stack, Text, Tooltip } from '@mantine/core'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import { useProfile } from '../api/account.ts'
import { request } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { Dialog, DialogForm, useDialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { rightsText, scopeText, WHY_ENDED } from './api-key.ts'
import type { ApiKey } from './api-key.ts'
import { ApiKeyDialog } from './api-key-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

/** The page. */
export function ApiKeysPage(): ReactElement {
  const { organization } = useOrganization()
  const owner = useScope()
  const ownId = useProfile().data?.user.id
  const path = owner === 'organization' ? `/api/organizations/${organization.id}/api-keys` : '/api/api-keys'
  const editing = useDialog<ApiKey | undefined>()
  const rotating = useDialog<ApiKey>()
  const taking = useDialog<ApiKey>()
  const revoking = useDialog<Removal>()
  return (
    <Page
      title="API keys"
      lead="A program logs in with a key of its own, and may do what the key says. A key stands with its maker: it ends when that person leaves or gets a smaller role, until another admin takes it over."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
          New API key
        </Button>
      }
    >
      <ResourceTable<ApiKey>
        path={path}
        searchLabel="Search by name"
        filters={<ScopeSwitch label="Whose keys" />}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Key', cell: (apiKey) => <Name apiKey={apiKey} /> },
          { title: 'May', visibleFrom: 'sm', cell: (apiKey) => <Rights apiKey={apiKey} /> },
          { title: 'Made by', visibleFrom: 'sm', cell: ({ makerName }) => makerName || 'a removed user' },
          { title: 'Last used', visibleFrom: 'xs', cell: (apiKey) => <LastUse apiKey={apiKey} /> },
          { title: 'Expires', visibleFrom: 'sm', cell: ({ expiresAt }) => <When at={expiresAt} never="never" /> },
        ]}
        actions={(apiKey) => (
          <>
            {apiKey.makerUserID === ownId ? null : (
              <RowAction icon="user" label={`Take over ${apiKey.name}`} onClick={() => taking.open(apiKey)} />
            )}
            <RowAction icon="pencil" label={`Change ${apiKey.name}`} onClick={() => editing.open(apiKey)} />
            <RowAction icon="key" label={`New secret of ${apiKey.name}`} onClick={() => rotating.open(apiKey)} />
            <RowAction
              icon="trash"
              label={`Revoke ${apiKey.name}`}
              isDangerous
              onClick={() => revoking.open({ path: `${path}/${apiKey.id}`, name: apiKey.name })}
            />
          </>
        )}
        empty={
          <Blank
            icon="key"
            title="No API key yet"
            text="Make a key for each program, with no more rights than it needs."
            action={<Button onClick={() => editing.open(undefined)}>New API key</Button>}
          />
        }
      />
      <ApiKeyDialog path={path} owner={owner} state={editing} />
      <RotateDialog path={path} state={rotating} />
      <TakeOverDialog path={path} state={taking} />
      <RemoveDialog state={revoking} verb="Revoke" changes={[path]}>
        The program that uses it is refused at once. Its broker tokens end, and so do their connections and the messages
        that wait for them.
      </RemoveDialog>
    </Page>
  )
}

function Name({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const { id, name, state, oldSecretUntil } = apiKey
  return (
    <Stack gap={2}>
      <Group gap="xs">
        <Text size="sm" fw={500} className="breakable">
          {name}
        </Text>
        {state === 'in_force' ? null : (
          <Tooltip label={WHY_ENDED[state]} multiline maw={320}>
            <Badge variant="light" color="orange" tt="none">
              {state === 'expired' ? 'expired' : 'not in force'}
            </Badge>
          </Tooltip>
        )}
        {oldSecretUntil === null ? null : (
          <Badge variant="light" tt="none">
            two secrets
          </Badge>
        )}
      </Group>
      <Text size="xs" c="dimmed" ff="monospace">
        fg_{id}
      </Text>
    </Stack>
  )
}

function Rights({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const restriction = scopeText(apiKey.scope)
  return (
    <Stack gap={2}>
      <Text size="sm">{rightsText(apiKey.rights)}</Text>
      {restriction === '' ? null : (
        <Text size="xs" c="dimmed" className="breakable">
          only {restriction}
        </Text>
      )}
    </Stack>
  )
}

function LastUse({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  return (
    <Stack gap={2}>
      <When at={apiKey.lastUsedAt} never="not yet" />
      {apiKey.lastUsedAddress === '' ? null : (
        <Text size="xs" c="dimmed" className="breakable">
          from {apiKey.lastUsedAddress}
        </Text>
      )}
    </Stack>
  )
}

interface TakeOverDialogProps {
  readonly path: string
  readonly state: DialogView<ApiKey>
}

function TakeOverDialog({ path, state }: TakeOverDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={`Take over ${subject?.name ?? ''}?`} state={state}>
      <DialogForm
        submitLabel="Take over"
        isComplete={subject !== undefined}
        changes={[path]}
        onSubmit={() => request('POST', `${path}/${subject?.id ?? ''}/hand-over`, { body: {} })}
        onClose={close}
      >
        <Text size="sm">
          The key then stands with you: it ends when you leave or get a smaller role. Programs that hold it go on. Give
          it a new secret if somebody who has left may know it.
        </Text>
      </DialogForm>
    </Dialog>
  )
}
