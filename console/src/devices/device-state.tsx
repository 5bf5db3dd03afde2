/** The state of a device in words, with its flags. */
import { Badge, Box, Button, Group, Select } from '@mantine/core'
import type { ReactElement } from 'react'
import { useDeviceCounts } from '../api/directory.ts'
import type { Device, DeviceState } from '../api/directory.ts'
import { useOrganization } from '../shell/organization.tsx'

const STATES = [
  { value: 'ON_TIME', label: 'On time', color: 'field' },
  { value: 'LATE', label: 'Late', color: 'yellow' },
  { value: 'SILENT', label: 'Silent', color: 'red' },
  { value: 'NEVER_HEARD', label: 'Never heard', color: 'gray' },
] as const satisfies readonly { readonly value: DeviceState; readonly label: string; readonly color: string }[]

const FLAGS = [
  { member: 'lowBattery', label: 'low battery' },
  { member: 'weakSignal', label: 'weak signal' },
  { member: 'losingFrames', label: 'losing frames' },
] as const

/** The state, and a word for each flag. */
export function DeviceStateCell({ device }: { readonly device: Device }): ReactElement {
  const state = STATES.find(({ value }) => value === device.state)
  return (
    <Group gap={4}>
      <Badge color={state?.color ?? 'gray'} variant="light" tt="none">
        {state?.label ?? device.state}
      </Badge>
      {FLAGS.filter(({ member }) => device[member]).map(({ member, label }) => (
        <Badge key={member} color="orange" variant="outline" tt="none">
          {label}
        </Badge>
      ))}
    </Group>
  )
}

/** Chooses the devices of one state; empty for all devices. */
export function DeviceStateFilter({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (state: string) => void
}): ReactElement {
  return (
    <Select
      aria-label="State"
      w={{ base: '100%', xs: 160 }}
      placeholder="All states"
      data={STATES.map(({ value: state, label }) => ({ value: state, label }))}
      value={value === '' ? null : value}
      onChange={(state) => onChange(state ?? '')}
      clearable
    />
  )
}

interface DeviceStateNumbersProps {
  /** Empty for all applications. */
  readonly applicationId: string
  /** The state that is shown alone; empty for all devices. */
  readonly value: string
  readonly onChange: (state: string) => void
}

/** The number of devices in each state. A number leads to its devices, and back to all of them. */
export function DeviceStateNumbers({ applicationId, value, onChange }: DeviceStateNumbersProps): ReactElement {
  const { organization } = useOrganization()
  const counts = useDeviceCounts(
    organization.id,
    applicationId,
    STATES.map(({ value: state }) => state),
  )
  return (
    <Group gap="xs" role="group" aria-label="Devices by state">
      {STATES.map(({ value: state, label, color }, index) => (
        <Button
          key={state}
          size="compact-sm"
          fw={500}
          variant={value === state ? 'light' : 'default'}
          aria-pressed={value === state}
          leftSection={<Dot color={color} />}
          onClick={() => onChange(value === state ? '' : state)}
        >
          {counts[index]?.data?.toLocaleString('en') ?? '–'} {label.toLowerCase()}
        </Button>
      ))}
    </Group>
  )
}

function Dot({ color }: { readonly color: string }): ReactElement {
  return <Box w={8} h={8} bg={`${color}.6`} aria-hidden="true" style={{ borderRadius: '50%' }} />
}
