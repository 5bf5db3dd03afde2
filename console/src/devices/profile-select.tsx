import { Select } from '@mantine/core'
import type { ReactElement } from 'react'
import { useDeviceProfiles } from '../api/device-profiles.ts'
import { useOrganization } from '../shell/organization.tsx'

interface ProfileSelectProps {
  /** An id of a profile. Another text, which is not of a profile, shows as no profile. */
  readonly value: string
  readonly onChange: (id: string) => void
}

/** The choice of a device profile of the organization. Nothing where it has none. */
export function ProfileSelect({ value, onChange }: ProfileSelectProps): ReactElement | null {
  const { organization } = useOrganization()
  const profiles = useDeviceProfiles(organization.id)
  const data = profiles.data?.result.map(({ id, name: label }) => ({ value: id, label })) ?? []
  if (data.length === 0) return null
  return (
    <Select
      label="Device profile"
      description="Its codec goes before the codec of the application."
      placeholder="None"
      data={data}
      value={data.some(({ value: id }) => id === value) ? value : null}
      onChange={(id) => onChange(id ?? '')}
      nothingFoundMessage="No device profile has this name"
      clearable
      clearButtonProps={{ 'aria-label': 'No device profile' }}
      searchable
    />
  )
}
