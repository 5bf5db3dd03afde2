import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { useOrganizations } from '../api/directory.ts'
import { Icon } from './icons.tsx'
import { useOrganization } from './organization.tsx'
import { attemptToLeave } from './unsaved-changes.tsx'

/** Switches the organization. A person with one organization sees its name, and no selection. */
export function OrganizationSelect(): ReactElement {
  const { organization, choose } = useOrganization()
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed === organization.displayName ? '' : typed, 250)
  const { data } = useOrganizations(search)
  const offered = new Map((data?.result ?? []).map(({ id, displayName }) => [id, displayName]))
  offered.set(organization.id, organization.displayName)
  return (
    <Select
      aria-label="Organization"
      w={{ base: 190, xs: 260 }}
      leftSection={<Icon name="building" />}
      data={[...offered].map(([value, label]) => ({ value, label }))}
      value={organization.id}
      onChange={(id) => {
        if (id !== null && id !== organization.id) attemptToLeave(() => choose(id))
      }}
      searchable
      onSearchChange={setTyped}
      nothingFoundMessage="No organization of yours is called so"
      maxDropdownHeight={320}
      allowDeselect={false}
      comboboxProps={{ shadow: 'md' }}
    />
  )
}
