/** Whether a list is of the chosen organization or, for global admins, of the whole deployment. */
import { SegmentedControl } from '@mantine/core'
import type { ReactElement } from 'react'
import { useOrganization } from '../shell/organization.tsx'
import { useAddressState } from './address-state.ts'
import { PAGE } from './resource-list.ts'

/** A list is of the chosen organization or of the whole deployment. */
export type Scope = 'organization' | 'deployment'

const NAME = 'scope'

/** The scope that the address names. Only a global admin can get `deployment`. */
export function useScope(): Scope {
  const { isGlobalAdmin } = useOrganization()
  const { get } = useAddressState()
  return isGlobalAdmin && get(NAME) === 'deployment' ? 'deployment' : 'organization'
}

interface ScopeSwitchProps {
  readonly label: string
  /** The name of the other scope, where it is not the sum of all organizations. */
  readonly deploymentLabel?: string
}

/** The choice of the scope. Only global admins are offered it. */
export function ScopeSwitch({ label, deploymentLabel = 'All' }: ScopeSwitchProps): ReactElement | null {
  const { isGlobalAdmin } = useOrganization()
  const scope = useScope()
  const { set } = useAddressState()
  if (!isGlobalAdmin) return null
  return (
    <SegmentedControl<Scope>
      aria-label={label}
      value={scope}
      onChange={(chosen) => set({ [NAME]: chosen === 'deployment' ? chosen : '', [PAGE]: '' })}
      data={[
        { value: 'organization', label: 'This organization' },
        { value: 'deployment', label: deploymentLabel },
      ]}
    />
  )
}
