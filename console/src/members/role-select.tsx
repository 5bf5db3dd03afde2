import { Select } from '@mantine/core'
import type { ReactElement } from 'react'
import { MEANING_OF, ROLES } from './roles.ts'
import type { Role } from './roles.ts'

interface RoleSelectProps {
  readonly value: Role
  readonly onChange: (role: Role) => void
}

/** Chooses a role, and says what it allows. */
export function RoleSelect({ value, onChange }: RoleSelectProps): ReactElement {
  return (
    <Select
      label="Role"
      description={MEANING_OF[value]}
      inputWrapperOrder={['label', 'input', 'description']}
      data={ROLES}
      value={value}
      onChange={(role) => {
        if (role !== null) onChange(role)
      }}
      allowDeselect={false}
    />
  )
}
