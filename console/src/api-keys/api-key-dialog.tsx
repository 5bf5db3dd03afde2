/** Makes a key, and then shows it for the only time; or changes a key. */
import { Checkbox, MultiSelect, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import type { Scope } from '../administration/scope.tsx'
import { useApplications } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { devEuisOf, RIGHTS, tagsOf, unrestrictable } from './api-key.ts'
import type { ApiKey, IssuedKey, KeyScope } from './api-key.ts'
import { IssuedKeyView } from './issued-key.tsx'

interface ApiKeyDialogProps {
  /** The path of the keys of the owner. */
  readonly path: string
  readonly owner: Scope
  /** The subject is the key that changes. Without a subject the dialog makes a key. */
  readonly state: DialogView<ApiKey | undefined>
}

/** The dialog. */
export function ApiKeyDialog({ path, owner, state }: ApiKeyDialogProps): ReactElement {
  const [isHeld, setHeld] = useState(false)
  const close = (): void => {
    setHeld(false)
    state.close()
  }
  const title = state.subject === undefined ? 'New API key' : `Change ${state.subject.name}`
  return (
    <Dialog title={title} state={state} isHeld={isHeld}>
      <Steps path={path} owner={owner} apiKey={state.subject} onIssued={() => setHeld(true)} onClose={close} />
    </Dialog>
  )
}

interface StepsProps extends Omit<ApiKeyDialogProps, 'state'> {
  readonly apiKey: ApiKey | undefined
  readonly onIssued: () => void
  readonly onClose: () => void
}

function Steps({ onIssued, ...props }: StepsProps): ReactElement {
  const [issued, setIssued] = useState<IssuedKey>()
  const show = (made: IssuedKey): void => {
    setIssued(made)
    onIssued()
  }
  if (issued !== undefined) return <IssuedKeyView issued={issued} onClose={props.onClose} />
  return <ApiKeyForm {...props} onIssued={show} />
}

interface ApiKeyFormProps extends Omit<StepsProps, 'onIssued'> {
  readonly onIssued: (issued: IssuedKey) => void
}

/** Days after which a new key ends. */
const LIVES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]
const DAY_MS = 86_400_000

/** The fields as they are typed so far. */
interface Draft {
  readonly name: string
  readonly rights: readonly string[]
  readonly applicationIds: readonly string[]
  readonly devices: string
  readonly tags: string
  /** Days; "" for a key that does not expire. */
  readonly life: string
}

function draftOf(apiKey: ApiKey | undefined): Draft {
  const { applicationIds = [], devEuis = [], tags = {} } = apiKey?.scope ?? {}
  return {
    name: apiKey?.name ?? '',
    rights: apiKey?.rights ?? ['events.read'],
    applicationIds,
    devices: devEuis.join('\n'),
    tags: Object.entries(tags)
      .map(([tag, value]) => `${tag}=${value}`)
      .join('\n'),
    life: '',
  }
}

/** The restriction that the draft asks for. */
function restrictionOf({ applicationIds, devices, tags }: Draft): KeyScope {
  const devEuis = devEuisOf(devices)
  const readTags = tagsOf(tags) ?? {}
  return {
    ...(applicationIds.length === 0 ? {} : { applicationIds }),
    ...(devEuis.length === 0 ? {} : { devEuis }),
    ...(Object.keys(readTags).length === 0 ? {} : { tags: readTags }),
  }
}

async function saveChanges(path: string, apiKey: ApiKey, draft: Draft): Promise<void> {
  const restriction = restrictionOf(draft)
  const members = { name: draft.name.trim(), rights: draft.rights, ...restriction }
  const body = Object.keys(restriction).length > 0 ? members : { ...members, isUnrestricted: true }
  await request('PUT', `${path}/${apiKey.id}`, { body: { apiKey: body } })
}

function create(path: string, draft: Draft): Promise<IssuedKey> {
  const { name, rights, life } = draft
  const expiry = life === '' ? {} : { expiresAt: new Date(Date.now() + Number(life) * DAY_MS).toISOString() }
  const body = { apiKey: { name: name.trim(), rights, ...restrictionOf(draft), ...expiry } }
  return request<IssuedKey>('POST', path, { body })
}

function ApiKeyForm({ path, owner, apiKey, onIssued, onClose }: ApiKeyFormProps): ReactElement {
  const [draft, setDraft] = useState(() => draftOf(apiKey))
  const change = (members: Partial<Draft>): void => setDraft((before) => ({ ...before, ...members }))
  const { applicationIds, devEuis, tags } = restrictionOf(draft)
  const restricted = { applications: applicationIds !== undefined, devices: (devEuis ?? tags) !== undefined }
  const wrongRight = unrestrictable(draft.rights, restricted)
  const isWhole = draft.name.trim() !== '' && draft.rights.length > 0 && tagsOf(draft.tags) !== undefined
  const save = async (): Promise<void> => {
    if (apiKey === undefined) return onIssued(await create(path, draft))
    await saveChanges(path, apiKey, draft)
    return onClose()
  }
  return (
    <DialogForm
      submitLabel={apiKey === undefined ? 'Create' : 'Save'}
      isComplete={isWhole && wrongRight === undefined}
      changes={[path]}
      onSubmit={save}
      // The dialog stays open to show the key.
      staysOpen
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The program that uses the key."
        placeholder="Bridge to the data lake"
        value={draft.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        maxLength={100}
        data-autofocus
      />
      <Rights owner={owner} value={draft.rights} onChange={(rights) => change({ rights })} />
      <Restriction owner={owner} draft={draft} onChange={change} />
      {wrongRight === undefined ? null : (
        <Text size="sm" c="red">
          A key with the right “{wrongRight}” can’t be restricted so far.
        </Text>
      )}
      {apiKey === undefined ? (
        <Select
          label="Expires"
          data={LIVES}
          value={draft.life}
          onChange={(life) => change({ life: life ?? '' })}
          allowDeselect={false}
        />
      ) : (
        <Text size="sm" c="dimmed">
          Another restriction, or fewer rights, end the broker tokens of the key. Its programs take new ones.
        </Text>
      )}
    </DialogForm>
  )
}

interface RestrictionProps {
  readonly owner: Scope
  readonly draft: Draft
  readonly onChange: (members: Partial<Draft>) => void
}

function Restriction({ owner, draft, onChange }: RestrictionProps): ReactElement {
  const { organization } = useOrganization()
  return (
    <>
      {owner === 'deployment' ? (
        <Text size="sm" c="dimmed">
          The key reaches every organization.
        </Text>
      ) : (
        <ApplicationsSelect
          organizationId={organization.id}
          value={draft.applicationIds}
          onChange={(applicationIds) => onChange({ applicationIds })}
        />
      )}
      <Textarea
        label="Only these devices"
        description="DevEUIs, one on each line. Empty for all."
        value={draft.devices}
        onChange={(event) => onChange({ devices: event.currentTarget.value })}
        autosize
        maxRows={4}
        spellCheck={false}
      />
      <Textarea
        label="Only devices with these tags"
        description="name=value, one on each line. Empty for all."
        error={tagsOf(draft.tags) === undefined ? 'Write name=value on each line.' : null}
        value={draft.tags}
        onChange={(event) => onChange({ tags: event.currentTarget.value })}
        autosize
        maxRows={4}
        spellCheck={false}
      />
    </>
  )
}

interface RightsProps {
  readonly owner: Scope
  readonly value: readonly string[]
  readonly onChange: (rights: readonly string[]) => void
}

function Rights({ owner, value, onChange }: RightsProps): ReactElement {
  const offered = RIGHTS.filter((right) => owner === 'deployment' || right.value !== 'metrics.read')
  return (
    <Checkbox.Group label="Rights" value={[...value]} onChange={onChange}>
      <Stack gap="xs" mt="xs">
        {offered.map((right) => (
          <Checkbox key={right.value} value={right.value} label={right.label} description={right.description} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}

interface ApplicationsSelectProps {
  readonly organizationId: string
  readonly value: readonly string[]
  readonly onChange: (applicationIds: readonly string[]) => void
}

function ApplicationsSelect({ organizationId, value, onChange }: ApplicationsSelectProps): ReactElement {
  const applications = useApplications(organizationId)
  const data = (applications.data?.result ?? []).map(({ id, name }) => ({ value: id, label: name }))
  return (
    <MultiSelect
      label="Only these applications"
      description="Empty for all, also those that are still to come."
      data={data}
      value={[...value]}
      onChange={onChange}
      searchable
      clearable
    />
  )
}
