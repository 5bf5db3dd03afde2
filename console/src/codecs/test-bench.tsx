/** Tries a codec, saved or not, on bytes or on an object. */
import { Button, Group, NumberInput, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent, ReactElement } from 'react'
import { tryCodec } from '../api/codecs.ts'
import type { Codec, CodecSample } from '../api/codecs.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { sampleOf } from './sample.ts'
import type { SampleForm } from './sample.ts'
import { TrialOutcome } from './trial-outcome.tsx'

/** The place of a script's fault. */
export interface Fault {
  readonly script: 'decoder' | 'encoder'
  readonly line: number
}

interface TestBenchProps {
  readonly applicationId: string
  readonly codec: Codec
  /**
   * Is called after a trial. The fault is undefined where the trial had none, or none with a line.
   */
  readonly onFault: (fault: Fault | undefined) => void
}

const EXAMPLES: Readonly<Record<SampleForm, string>> = {
  hex: '01 67 00 fa',
  base64: 'AWcA+g==',
  object: '{"temperatureSensor": {"1": 25}}',
}

const LABELS: Readonly<Record<SampleForm, string>> = {
  hex: 'Bytes in hex',
  base64: 'Bytes in base64',
  object: 'Object',
}

/** The panel. */
export function TestBench({ applicationId, codec, onFault }: TestBenchProps): ReactElement {
  const [form, setForm] = useState<SampleForm>('hex')
  const [texts, setTexts] = useState(EXAMPLES)
  const [fPort, setFPort] = useState<number | string>(1)
  const sample = sampleOf(form, texts[form])
  const trial = useTrial({ applicationId, codec, onFault })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (sample.ok) trial.mutate({ fPort: Number(fPort), ...sample.sample })
  }
  return (
    <Panel title="Test bench" lead="Tries the codec as it stands here, saved or not. Nothing is sent.">
      <form onSubmit={submit}>
        <Stack>
          <SegmentedControl<SampleForm>
            aria-label="How the sample is written"
            value={form}
            onChange={(chosen) => {
              setForm(chosen)
              trial.reset()
            }}
            data={[
              { value: 'hex', label: 'Hex' },
              { value: 'base64', label: 'Base64' },
              { value: 'object', label: 'Object' },
            ]}
          />
          <SampleText
            form={form}
            text={texts[form]}
            error={sample.ok ? undefined : sample.message}
            onChange={(text) => setTexts({ ...texts, [form]: text })}
          />
          <Group align="flex-end" justify="space-between">
            <NumberInput
              label="Port"
              w={100}
              min={1}
              max={255}
              clampBehavior="strict"
              value={fPort}
              onChange={setFPort}
              allowDecimal={false}
            />
            <Button
              type="submit"
              leftSection={<Icon name="play" />}
              loading={trial.isPending}
              disabled={!sample.ok || fPort === ''}
            >
              Try
            </Button>
          </Group>
          <Failure error={trial.error} />
          {trial.data === undefined ? (
            <Text size="sm" c="dimmed">
              The result appears here: values or bytes, warnings, and the console of the script.
            </Text>
          ) : (
            <TrialOutcome trial={trial.data} />
          )}
        </Stack>
      </form>
    </Panel>
  )
}

interface SampleTextProps {
  readonly form: SampleForm
  readonly text: string
  readonly error: string | undefined
  readonly onChange: (text: string) => void
}

function SampleText({ form, text, error, onChange }: SampleTextProps): ReactElement {
  return (
    <Textarea
      label={LABELS[form]}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      description={form === 'object' ? 'Encoded to bytes, like a command.' : 'Decoded to values, like an uplink.'}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      autosize
      minRows={2}
      maxRows={8}
      spellCheck={false}
      autoCapitalize="none"
    />
  )
}

/** Tries the codec on a sample, and tells where a script is at fault. */
function useTrial({ applicationId, codec, onFault }: TestBenchProps) {
  return useMutation({
    mutationFn: (sample: CodecSample) => tryCodec(applicationId, codec, sample),
    onSuccess: ({ decoded, encoded }, sample) => {
      const line = (decoded ?? encoded)?.error?.line ?? undefined
      onFault(line === undefined ? undefined : { script: 'object' in sample ? 'encoder' : 'decoder', line })
    },
  })
}
