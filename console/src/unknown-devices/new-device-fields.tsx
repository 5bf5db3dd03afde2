/** The values that unknown devices get when they are registered, by hand or by a rule. */
import { Select, TextInput } from '@mantine/core'
import type { ReactElement } from 'react'
import { useApplications } from '../api/directory.ts'
import type { NewDeviceValues } from '../api/unknown-devices.ts'
import { PairsInput } from '../devices/pairs-input.tsx'
import { recordOf } from '../devices/pairs.ts'
import type { Pair } from '../devices/pairs.ts'
import { ProfileSelect } from '../devices/profile-select.tsx'
import { useOrganization } from '../shell/organization.tsx'

/** The values while they are typed. */
export interface NewDeviceDraft {
  readonly applicationId: string | undefined
  readonly deviceProfileId: string
  readonly name: string
  readonly tags: readonly Pair[]
}

/** The name that a device has at its network server. */
const THEIR_NAME = '{deviceName}'

/** A draft that takes the names of the network server. */
export function emptyDraft(name = THEIR_NAME): NewDeviceDraft {
  return { applicationId: undefined, deviceProfileId: '', name, tags: [] }
}

/** The values for the service. */
export function valuesOf(draft: NewDeviceDraft, applicationID: string, isOfDeployment: boolean): NewDeviceValues {
  const { deviceProfileId, name, tags } = draft
  return {
    applicationID,
    nameTemplate: name.trim() === '' ? THEIR_NAME : name.trim(),
    ...(deviceProfileId === '' ? {} : { deviceProfileID: deviceProfileId }),
    tags: recordOf(tags),
    ...(isOfDeployment ? { ofDeployment: true } : {}),
  }
}

interface NewDeviceFieldsProps {
  readonly draft: NewDeviceDraft
  readonly onChange: (draft: NewDeviceDraft) => void
  /** True: the name is a template for several devices. */
  readonly areSeveral: boolean
}

/** The fields. */
export function NewDeviceFields({ draft, onChange, areSeveral }: NewDeviceFieldsProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  return (
    <>
      <Select
        label="Application"
        data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
        value={draft.applicationId ?? null}
        onChange={(id) => onChange({ ...draft, applicationId: id ?? undefined })}
        nothingFoundMessage="No application has this name"
        allowDeselect={false}
        searchable
      />
      <TextInput
        label={areSeveral ? 'Names' : 'Name'}
        description={
          areSeveral
            ? 'May have {deviceName}, {devEUI}, {applicationName} and {deviceProfileName} of the network server.'
            : undefined
        }
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
        maxLength={areSeveral ? 200 : 100}
      />
      <ProfileSelect
        value={draft.deviceProfileId}
        onChange={(deviceProfileId) => onChange({ ...draft, deviceProfileId })}
      />
      <PairsInput
        label="Tags"
        description="Each event of the device carries them."
        one="tag"
        pairs={draft.tags}
        onChange={(tags) => onChange({ ...draft, tags })}
      />
    </>
  )
}

/** The application of the draft, or the organization's first one where none is chosen. */
export function useChosenApplication(draft: NewDeviceDraft): NewDeviceDraft {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  return { ...draft, applicationId: draft.applicationId ?? applications.data?.result[0]?.id }
}
