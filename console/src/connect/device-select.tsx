import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { useDevices } from '../api/directory.ts'
import { useOrganization } from '../shell/organization.tsx'

interface DeviceSelectProps {
  readonly applicationId: string | null
  /** The chosen DevEUI. */
  readonly value: string | null
  readonly onChange: (devEui: string | null) => void
}

/** The number of devices that are offered at once. The rest is found by typing. */
const OFFERED = 50

/** Chooses one of the application's devices by name or DevEUI. */
export function DeviceSelect({ applicationId, value, onChange }: DeviceSelectProps): ReactElement {
  const { organization } = useOrganization()
  const [typed, setTyped] = useState('')
  const [label, setLabel] = useState('')
  const [search] = useDebouncedValue(typed === label ? '' : typed, 150)
  const { data } = useDevices({
    organizationId: organization.id,
    applicationId: applicationId ?? undefined,
    search,
    limit: OFFERED,
    offset: 0,
  })
  const offered = new Map((data?.result ?? []).map(({ devEUI, name }) => [devEUI, `${name} (${devEUI})`]))
  if (value !== null && !offered.has(value)) offered.set(value, label)
  return (
    <Select
      label="Device"
      miw={220}
      placeholder="Type a name or DevEUI"
      data={[...offered].map(([devEui, text]) => ({ value: devEui, label: text }))}
      value={value}
      onChange={(devEui, option) => {
        setLabel(option?.label ?? '')
        onChange(devEui)
      }}
      searchable
      onSearchChange={setTyped}
      filter={({ options }) => options}
      nothingFoundMessage="No device is called so"
    />
  )
}
