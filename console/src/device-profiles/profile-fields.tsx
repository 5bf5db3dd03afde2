import { NumberInput, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import type { ReactElement } from 'react'
import { PairsInput } from '../devices/pairs-input.tsx'
import type { ProfileDraft } from './profile-draft.ts'

interface ProfileFieldsProps {
  readonly draft: ProfileDraft
  readonly onChange: (part: Partial<ProfileDraft>) => void
  /** The fault of the FPorts. */
  readonly portFault: string | undefined
}

const PORTS = [
  { member: 'decodedPorts', label: 'FPorts that are decoded', description: 'Like 1, 5-8. Empty: all others.' },
  { member: 'passedPorts', label: 'FPorts that are not', description: 'Their uplinks go on as they came.' },
] as const

const LINES = [
  ['vendor', 'Vendor'],
  ['model', 'Model'],
  ['firmwareVersion', 'Firmware'],
  ['region', 'Region'],
  ['deviceClass', 'Class'],
] as const

const LIMITS = [
  { member: 'batteryLimitPercent', label: 'Battery limit in percent', preset: '20 percent', min: 0, max: 100 },
  { member: 'marginLimitDb', label: 'Limit of the signal margin in dB', preset: '5 dB', min: -32, max: 31 },
] as const

/** The fields of a profile, without its codec. */
export function ProfileFields({ draft, onChange, portFault }: ProfileFieldsProps): ReactElement {
  return (
    <>
      <TextInput
        label="Name"
        value={draft.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        maxLength={100}
      />
      <Textarea
        label="Description"
        value={draft.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={6}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {LINES.map(([member, label]) => (
          <TextInput
            key={member}
            label={label}
            value={draft[member]}
            onChange={(event) => onChange({ [member]: event.currentTarget.value })}
            maxLength={100}
          />
        ))}
        <NumberInput
          label="Expected interval in seconds"
          description="0: no uplink is expected."
          min={0}
          allowNegative={false}
          allowDecimal={false}
          value={draft.expectedIntervalSeconds}
          onChange={(value) => onChange({ expectedIntervalSeconds: Number(value) })}
        />
        {LIMITS.map(({ member, label, preset, min, max }) => (
          <NumberInput
            key={member}
            label={label}
            description={`Empty: ${preset}.`}
            min={min}
            max={max}
            allowDecimal={false}
            value={draft[member] ?? ''}
            onChange={(value) => onChange({ [member]: limitOf(value) })}
          />
        ))}
        <Ports draft={draft} onChange={onChange} portFault={portFault} />
      </SimpleGrid>
      <PairsInput
        label="Tags"
        description="Each event of the devices carries them. A tag of the device itself goes over them."
        one="tag"
        pairs={draft.tags}
        onChange={(tags) => onChange({ tags })}
      />
      <PairsInput
        label="Variables"
        description="Only the codec reads them. A variable of the device itself goes over them."
        one="variable"
        pairs={draft.variables}
        onChange={(variables) => onChange({ variables })}
      />
    </>
  )
}

function Ports({ draft, onChange, portFault }: ProfileFieldsProps): ReactElement {
  return (
    <>
      {PORTS.map(({ member, label, description }) => (
        <TextInput
          key={member}
          label={label}
          description={description}
          value={draft[member]}
          onChange={(event) => onChange({ [member]: event.currentTarget.value })}
          error={draft[member].trim() === '' ? undefined : portFault}
          autoComplete="off"
          spellCheck={false}
          maxLength={1000}
        />
      ))}
    </>
  )
}

/** A number that is half typed, like "-", is no limit yet. */
function limitOf(value: number | string): number | null {
  return typeof value === 'number' ? value : null
}
