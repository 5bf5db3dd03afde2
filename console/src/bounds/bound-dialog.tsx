import { Alert, Group, Radio, Select, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { ORGANIZATION_BOUNDS } from '../../../src/organization-bounds.ts'
import type { Organization } from '../api/directory.ts'
import { boundsPath, changeBound } from '../api/organization-bounds.ts'
import type { Bound } from '../api/organization-bounds.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { wordsOf } from './bound-words.ts'
import { isRate, quantity, rangeText, readTyped, stepsOf, suffixOf, typedOf } from './quantities.ts'
import type { Typed } from './quantities.ts'

interface BoundDialogProps {
  readonly organization: Organization
  /** The subject is the bound as it was when the dialog was opened. */
  readonly state: DialogView<Bound>
}

/** Gives the organization a bound of its own, or the deployment's bound again. */
export function BoundDialog({ organization, state }: BoundDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? '' : (wordsOf(subject.name)?.label ?? subject.name)} state={state}>
      {subject === undefined ? null : <BoundForm organization={organization} bound={subject} onClose={close} />}
    </Dialog>
  )
}

interface BoundFormProps {
  readonly organization: Organization
  readonly bound: Bound
  readonly onClose: () => void
}

type Origin = 'deployment' | 'own'

function BoundForm({ organization, bound, onClose }: BoundFormProps): ReactElement {
  const { name, unit, maximum, deploymentMaximum, isOverridden } = bound
  const [origin, setOrigin] = useState<Origin>(isOverridden ? 'own' : 'deployment')
  const [typed, setTyped] = useState(() => typedOf(maximum, unit))
  const reading = readTyped(typed, ORGANIZATION_BOUNDS[name])
  const own = reading.ok ? reading.value : undefined
  const chosen = origin === 'own' ? own : deploymentMaximum
  const type = (part: Partial<Typed>): void => {
    setTyped({ ...typed, ...part })
    setOrigin('own')
  }
  return (
    <DialogForm
      submitLabel="Save"
      isComplete={chosen !== undefined}
      changes={[boundsPath(organization.id), 'status']}
      onSubmit={() => changeBound(organization.id, name, origin === 'own' ? (own ?? null) : null)}
      onClose={onClose}
    >
      <Radio.Group
        label={`The bound of ${organization.displayName}`}
        description={wordsOf(name)?.meaning}
        value={origin}
        onChange={(value) => setOrigin(value === 'own' ? 'own' : 'deployment')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="deployment" label={`Use the deployment’s value: ${quantity(deploymentMaximum, unit)}`} />
          <Radio value="own" label="Use a value of its own" />
        </Stack>
      </Radio.Group>
      <ValueInput
        bound={bound}
        typed={typed}
        onType={type}
        fault={reading.ok || origin !== 'own' ? null : reading.fault}
      />
      {chosen === undefined ? null : <LowerThanUsed bound={bound} chosen={chosen} organization={organization} />}
    </DialogForm>
  )
}

interface ValueInputProps {
  readonly bound: Bound
  readonly typed: Typed
  readonly onType: (part: Partial<Typed>) => void
  readonly fault: string | null
}

/** The longest value in bytes has 15 digits and four commas. */
const MAXIMUM_TEXT_LENGTH = 24

function ValueInput({ bound: { name, unit }, typed, onType, fault }: ValueInputProps): ReactElement {
  const definition = ORGANIZATION_BOUNDS[name]
  const steps = stepsOf(unit)
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap">
      <TextInput
        label="Own value"
        description={fault === null ? `From ${rangeText(definition)}.` : undefined}
        flex={1}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        inputMode="decimal"
        autoComplete="off"
        maxLength={MAXIMUM_TEXT_LENGTH}
        value={typed.text}
        onChange={(event) => onType({ text: event.currentTarget.value })}
        error={fault}
        data-autofocus
      />
      {steps.length === 0 ? null : (
        <Select
          label="Unit"
          w={150}
          data={steps.map(({ label }) => ({ value: label, label: label + suffixOf(unit) }))}
          value={typed.step}
          onChange={(step) => onType({ step: step ?? typed.step })}
          allowDeselect={false}
        />
      )}
    </Group>
  )
}

interface LowerThanUsedProps {
  readonly bound: Bound
  readonly chosen: number
  readonly organization: Organization
}

/** Says what a bound below the present use does. A bound on work in a second takes nothing away. */
function LowerThanUsed({ bound, chosen, organization }: LowerThanUsedProps): ReactElement | null {
  const { name, unit, used } = bound
  if (used === null || used <= chosen || isRate(unit)) return null
  const use = `${organization.displayName} uses ${quantity(used, unit)}.`
  return (
    <Alert color="orange" variant="light" icon={<Icon name="alert" />} role="status">
      {name === 'storedBytes'
        ? `${use} Its oldest messages are deleted until the others fit. This can’t be undone.`
        : `${use} It keeps what it has, and gets nothing more until it uses less than its bound.`}
    </Alert>
  )
}
