/** The test vectors of a profile: written, run, and the difference where one fails. */
import { Alert, Badge, Button, Group, Stack, Text, Textarea } from '@mantine/core'
import type { ReactElement } from 'react'
import type { VectorOutcome } from '../api/device-profiles.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { withVector } from './profile-draft.ts'
import { UplinkDialog } from './uplink-dialog.tsx'

interface VectorsPanelProps {
  /** A JSON array. */
  readonly text: string
  /** Says why the text is no JSON array. */
  readonly fault: string | undefined
  readonly onChange: (text: string) => void
  readonly onRun: () => void
  readonly isRunning: boolean
  readonly error: unknown
  /** Undefined before the vectors ran. */
  readonly outcomes: readonly VectorOutcome[] | undefined
}

const UPLINK = { name: 'sample uplink', fPort: 1, bytes: '00fa', expected: { data: { temperature: 25 } } }
const COMMAND = { name: 'sample command', object: { open: true }, expectedBytes: '01' }

/** The panel. */
export function VectorsPanel(props: VectorsPanelProps): ReactElement {
  const { text, fault, onChange, onRun, isRunning, error, outcomes } = props
  const taking = useDialog()
  return (
    <Panel title="Test vectors" lead="Samples with the outcome that the codec must give. Saving runs them too.">
      <Stack>
        <Textarea
          label="Vectors as JSON"
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
          error={fault}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={4}
          maxRows={18}
          spellCheck={false}
          autoCapitalize="none"
        />
        <Group justify="space-between">
          <Group gap="xs">
            <AddButton label="Add an uplink" onClick={() => onChange(withVector(text, UPLINK))} />
            <AddButton label="Add a command" onClick={() => onChange(withVector(text, COMMAND))} />
            <AddButton label="Take a real uplink" onClick={() => taking.open()} />
          </Group>
          <Button leftSection={<Icon name="play" />} loading={isRunning} disabled={fault !== undefined} onClick={onRun}>
            Run
          </Button>
        </Group>
        <Failure error={error} />
        {outcomes === undefined ? null : <Outcomes outcomes={outcomes} />}
      </Stack>
      <UplinkDialog state={taking} onVector={(vector) => onChange(withVector(text, vector))} />
    </Panel>
  )
}

function AddButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }): ReactElement {
  return (
    <Button variant="default" size="compact-sm" leftSection={<Icon name="plus" />} onClick={onClick}>
      {label}
    </Button>
  )
}

function Outcomes({ outcomes }: { readonly outcomes: readonly VectorOutcome[] }): ReactElement {
  const failed = outcomes.filter(({ ok }) => !ok)
  if (outcomes.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        There is no test vector yet.
      </Text>
    )
  }
  return (
    <Stack role="status">
      <Group gap="xs">
        <Badge variant="light" color={failed.length === 0 ? 'field' : 'red'} tt="none" size="lg">
          {outcomes.length - failed.length} of {outcomes.length} passed
        </Badge>
      </Group>
      {failed.map(({ name, expected, got }, index) => (
        <Alert key={index} color="red" variant="light" title={`${name} failed`}>
          <Stack gap="xs">
            <CodeBlock title="Expected" text={expected} maxHeight={200} />
            <CodeBlock title="Got" text={got} maxHeight={200} />
          </Stack>
        </Alert>
      ))}
    </Stack>
  )
}
