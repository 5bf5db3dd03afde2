/** Trying a codec, saved or not, on bytes or on an object, before anything depends on it. */
import { Alert, Button, Group, NumberInput, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { type Codec, type CodecTrial, tryCodec } from '../api/codecs.ts'
import { base64Of } from '../broker/bytes.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'

interface TestBenchProps {
  readonly applicationId: string
  readonly codec: Codec
  /** The line of the script that failed, of which script; null where none did. */
  readonly onFault: (line: number | null, script: 'decoder' | 'encoder') => void
}

type Direction = 'decode' | 'encode'

/** The panel. */
export function TestBench({ applicationId, codec, onFault }: TestBenchProps): ReactElement {
  const [direction, setDirection] = useState<Direction>('decode')
  const [bytes, setBytes] = useState('01 67 00 fa')
  const [object, setObject] = useState('{"temperatureSensor": {"1": 25}}')
  const [fPort, setFPort] = useState<number | string>(1)
  const trial = useMutation({
    mutationFn: () => tryCodec(applicationId, codec, { fPort: Number(fPort), ...sampleOf(direction, bytes, object) }),
    onSuccess: ({ decoded, encoded }) => {
      onFault((decoded ?? encoded)?.error?.line ?? null, direction === 'decode' ? 'decoder' : 'encoder')
    },
  })
  return (
    <Panel title="Test bench" lead="Tries what the editor holds. Nothing is sent or saved.">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          trial.mutate()
        }}
      >
        <Stack>
          <SegmentedControl
            aria-label="Direction"
            value={direction}
            onChange={(value) => {
              setDirection(value)
              trial.reset()
            }}
            data={[
              { value: 'decode', label: 'Decode an uplink' },
              { value: 'encode', label: 'Encode a command' },
            ]}
          />
          <Textarea
            label={direction === 'decode' ? 'Sample bytes, in hex' : 'Sample object'}
            value={direction === 'decode' ? bytes : object}
            onChange={(event) => (direction === 'decode' ? setBytes : setObject)(event.currentTarget.value)}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
          />
          <Group align="flex-end" justify="space-between">
            <NumberInput
              label="Port"
              w={100}
              min={1}
              max={255}
              value={fPort}
              onChange={setFPort}
              allowDecimal={false}
            />
            <Button type="submit" variant="default" leftSection={<Icon name="play" />} loading={trial.isPending}>
              Try
            </Button>
          </Group>
          <Failure error={trial.error} />
          {trial.data === undefined ? null : <Outcome trial={trial.data} />}
        </Stack>
      </form>
    </Panel>
  )
}

function Outcome({ trial }: { readonly trial: CodecTrial }): ReactElement | null {
  const { decoded, encoded } = trial
  const outcome = decoded ?? encoded
  if (outcome === undefined) return null
  const { error, warnings, durationMs } = outcome
  return (
    <Stack gap="sm" role="status">
      {error === null ? null : (
        <Alert
          color="red"
          variant="light"
          icon={<Icon name="alert" />}
          title={error.line === null ? 'It failed' : `Line ${error.line}`}
        >
          {error.message}
        </Alert>
      )}
      {error !== null || decoded === undefined ? null : (
        <CodeBlock title="Decoded" text={JSON.stringify(decoded.object, undefined, 2)} />
      )}
      {error !== null || encoded === undefined ? null : (
        <CodeBlock title="Encoded" text={`${encoded.hex}\n${encoded.data}`} />
      )}
      {warnings.length === 0 ? null : <CodeBlock title="Warnings" text={warnings.join('\n')} />}
      {outcome.console.length === 0 ? null : (
        <CodeBlock title="Console of the script" text={outcome.console.join('\n')} />
      )}
      <Text size="sm" c="dimmed">
        Took {durationMs.toFixed(1)} ms.
      </Text>
    </Stack>
  )
}

function sampleOf(direction: Direction, bytes: string, object: string): { data: string } | { object: unknown } {
  if (direction === 'encode') return { object: parsedObject(object) }
  const data = base64Of(bytes)
  if (data === undefined || data === '')
    throw new Error('Type the bytes as pairs of hexadecimal digits, like 01 67 00 fa.')
  return { data }
}

function parsedObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The object is not JSON: ${error instanceof Error ? error.message : ''}`, { cause: error })
  }
}
