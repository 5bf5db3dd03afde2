/** The fields of keeping in step: how often, and whether devices are removed. */
import { Button, Checkbox, Fieldset, Group, Select, Stack, Text, TextInput } from '@mantine/core'
import type { ReactElement } from 'react'
import { INTERVAL_UNITS, readInterval } from './interval.ts'
import type { TypedInterval } from './interval.ts'

/** The longest number of the range has 6 digits; the rest is for a fraction. */
const MAXIMUM_TEXT_LENGTH = 12

/** The wish while it is typed. */
export interface StepDraft {
  readonly interval: TypedInterval
  readonly removeMissing: boolean
}

interface StepFieldsProps {
  readonly draft: StepDraft
  readonly onChange: (part: Partial<StepDraft>) => void
  /** True while the step may be set. */
  readonly isReady: boolean
  readonly isPending: boolean
  /** Called with the interval in seconds. */
  readonly onKeep: (intervalSeconds: number) => void
}

/** The fields, with the button that begins. */
export function StepFields({ draft, onChange, isReady, isPending, onKeep }: StepFieldsProps): ReactElement {
  const { interval, removeMissing } = draft
  const reading = readInterval(interval)
  return (
    <Fieldset
      legend={
        <Text span size="sm" fw={600}>
          Keep in step
        </Text>
      }
    >
      <Stack>
        <Group gap="xs" align="flex-start" wrap="nowrap">
          <TextInput
            label="Import every"
            description={reading.ok ? 'From 5 minutes to 7 days.' : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            flex={1}
            inputMode="decimal"
            autoComplete="off"
            maxLength={MAXIMUM_TEXT_LENGTH}
            value={interval.text}
            onChange={(event) => onChange({ interval: { ...interval, text: event.currentTarget.value } })}
            error={reading.ok ? undefined : reading.fault}
          />
          <Select
            label="Unit"
            w={130}
            data={INTERVAL_UNITS}
            value={interval.unit}
            onChange={(unit) => onChange({ interval: { ...interval, unit: unit ?? interval.unit } })}
            allowDeselect={false}
          />
        </Group>
        <Checkbox
          label="Remove imported devices that are missing there in two imports in a row"
          checked={removeMissing}
          onChange={(event) => onChange({ removeMissing: event.currentTarget.checked })}
        />
        <Group justify="flex-end">
          <Button
            variant="light"
            onClick={() => {
              if (reading.ok) onKeep(reading.seconds)
            }}
            loading={isPending}
            disabled={!isReady || !reading.ok}
          >
            Keep in step
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  )
}
