/** Makes a device profile of a model of the library, and opens its page. */
import { Anchor, Select, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { createFromLibrary, useLibraryVendors, useProfilesOfVendor } from '../api/device-library.ts'
import type { LibraryProfile } from '../api/device-library.ts'
import { DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { firmwaresOf, modelsOf, nameOf } from './library-choice.ts'
import type { LibraryChoice } from './library-choice.ts'

/** The dialog. */
export function LibraryDialog({ state }: { readonly state: DialogView<void> }): ReactElement {
  return (
    <Dialog title="Choose from the library" state={state}>
      <LibraryForm onClose={state.close} />
    </Dialog>
  )
}

const NOTHING: LibraryChoice = { vendor: null, model: null, profileId: null, region: null }

function LibraryForm({ onClose }: { readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [, navigate] = useLocation()
  const [choice, setChoice] = useState(NOTHING)
  const [typed, setTyped] = useState<string>()
  const profiles = useProfilesOfVendor(choice.vendor).data?.result ?? []
  const profile = profiles.find(({ id }) => id === choice.profileId)
  const name = typed ?? (profile === undefined ? '' : nameOf(profile))
  const create = async (): Promise<void> => {
    if (profile === undefined) return
    const region = choice.region === null ? {} : { region: choice.region }
    const fields = { name: name.trim(), organizationID: organization.id, libraryProfileID: profile.id, ...region }
    // Its examples were run when it came to the library, and the operator took it all the same.
    navigate(`/device-profiles/${await createFromLibrary(fields, profile.failedExamples > 0)}`)
  }
  return (
    <DialogForm
      submitLabel="Create"
      isComplete={profile !== undefined && name.trim() !== ''}
      changes={[DEVICE_PROFILES_PATH]}
      onSubmit={create}
      onClose={onClose}
    >
      <ChoiceFields choice={choice} profiles={profiles} profile={profile} onChange={setChoice} />
      {profile === undefined ? null : <Origin profile={profile} />}
      <TextInput
        label="Name"
        description="No other device profile of the organization has this name."
        value={name}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maxLength={100}
      />
    </DialogForm>
  )
}

interface ChoiceFieldsProps {
  readonly choice: LibraryChoice
  readonly profiles: readonly LibraryProfile[]
  readonly profile: LibraryProfile | undefined
  readonly onChange: (choice: LibraryChoice) => void
}

function ChoiceFields({ choice, profiles, profile, onChange }: ChoiceFieldsProps): ReactElement {
  const vendors = useLibraryVendors()
  const { vendor, model, profileId, region } = choice
  const chooseProfile = (chosen: Pick<LibraryChoice, 'vendor' | 'model'>, id: string | null): void => {
    const regions = profiles.find((one) => one.id === id)?.regions ?? []
    onChange({ ...chosen, profileId: id, region: regions[0]?.region ?? null })
  }
  const chooseModel = (chosen: string | null): void => {
    const [only, other] = firmwaresOf(profiles, chosen)
    chooseProfile({ vendor, model: chosen }, other === undefined ? (only?.value ?? null) : null)
  }
  return (
    <>
      <Failure error={vendors.error} onRetry={() => void vendors.refetch()} />
      {vendors.data?.result.length === 0 ? (
        <Text size="sm">
          The library is empty. See the{' '}
          <Anchor component={Link} href="/device-library">
            device library
          </Anchor>
          .
        </Text>
      ) : null}
      <Select
        label="Vendor"
        data={vendors.data?.result.map((one) => one.vendor) ?? []}
        value={vendor}
        onChange={(chosen) => onChange({ ...NOTHING, vendor: chosen })}
        searchable
        data-autofocus
      />
      <Select
        label="Model"
        data={[...modelsOf(profiles)]}
        value={model}
        onChange={chooseModel}
        disabled={vendor === null}
        searchable
      />
      <Select
        label="Firmware"
        data={[...firmwaresOf(profiles, model)]}
        value={profileId}
        onChange={(id) => chooseProfile({ vendor, model }, id)}
        disabled={model === null}
        allowDeselect={false}
      />
      <Select
        label="Region"
        data={[...new Set(profile?.regions.map((one) => one.region))]}
        value={region}
        onChange={(chosen) => onChange({ ...choice, region: chosen })}
        disabled={profile === undefined || profile.regions.length === 0}
        allowDeselect={false}
      />
    </>
  )
}

/** The source and the licence of what is chosen. */
function Origin({ profile }: { readonly profile: LibraryProfile }): ReactElement {
  const { source, description, vectorCount, failedExamples } = profile
  const licence = source.licence === '' ? 'no licence named' : source.licence
  const examples = `${vectorCount} ${vectorCount === 1 ? 'example' : 'examples'}`
  return (
    <Stack gap={2}>
      {description.trim() === '' ? null : <Text size="sm">{description}</Text>}
      <Text size="sm" c="dimmed" className="breakable">
        From {[source.name, source.version, licence, examples].filter((text) => text !== '').join(' · ')}
      </Text>
      {failedExamples === 0 ? null : (
        <Text size="sm">{failedExamples} of its own examples do not hold. It is made all the same.</Text>
      )}
    </Stack>
  )
}
