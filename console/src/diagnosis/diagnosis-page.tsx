/** Why no data comes: one sentence for a device, a client or a topic, and the steps behind it. */
import { Alert, Badge, Button, Group, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactElement } from 'react'
import { useAddressState } from '../administration/address-state.ts'
import { useDiagnosis } from '../api/diagnosis.ts'
import type { Diagnosis, DiagnosisStep } from '../api/diagnosis.ts'
import { Failure } from '../shell/failure.tsx'
import { Facts } from '../shell/facts.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { factName, guessKind, kindOf, QUESTION_KINDS } from './question.ts'

const STEP_NAMES: Readonly<Record<string, string>> = {
  networkServer: 'Network server',
  device: 'Device',
  events: 'Events',
  codec: 'Codec',
  subscription: 'Subscription',
  token: 'Token',
  connection: 'Connection',
  delivery: 'Delivery',
}

const STATES = {
  ok: ['well', 'field'],
  problem: ['cause', 'red'],
  unknown: ['not known', 'gray'],
} as const satisfies Readonly<Record<DiagnosisStep['status'], readonly [string, string]>>

/** The page. */
export function DiagnosisPage(): ReactElement {
  const { organization } = useOrganization()
  const address = useAddressState()
  const about = address.get('about')
  const kind = kindOf(address.get('kind'), about)
  const diagnosis = useDiagnosis(organization.id, kind, about)
  const ask = (text: string, asked: string): void => {
    if (text === about && asked === kind) void diagnosis.refetch()
    else address.set({ about: text, kind: asked })
  }
  return (
    <Page
      title="Why no data?"
      lead="Looks at the whole way of an event, from the device to the client, and says what is wrong and what to do."
    >
      <Question key={`${kind} ${about}`} about={about} kind={kind} isAsking={diagnosis.isFetching} onAsk={ask} />
      <Failure error={diagnosis.error} onRetry={() => void diagnosis.refetch()} />
      {diagnosis.isLoading ? <Skeleton h={320} /> : null}
      {diagnosis.data === undefined ? null : <Answer diagnosis={diagnosis.data} />}
    </Page>
  )
}

interface QuestionProps {
  readonly about: string
  readonly kind: string
  readonly isAsking: boolean
  readonly onAsk: (text: string, kind: string) => void
}

function Question({ about, kind, isAsking, onAsk }: QuestionProps): ReactElement {
  const [text, setText] = useState(about)
  const [chosen, setChosen] = useState<string | null>(null)
  const trimmed = text.trim()
  const shown = chosen ?? (text === about && about !== '' ? kind : guessKind(trimmed))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (trimmed !== '') onAsk(trimmed, shown)
  }
  return (
    <form onSubmit={submit}>
      <Group gap="sm" align="flex-end">
        <TextInput
          label="DevEUI, client id or topic"
          placeholder="00005eef1000000b"
          flex={1}
          miw={220}
          maw={520}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          leftSection={<Icon name="search" />}
        />
        <Select
          label="It is a"
          w={130}
          allowDeselect={false}
          data={QUESTION_KINDS.map(({ value, label }) => ({ value, label }))}
          value={shown}
          onChange={setChosen}
        />
        <Button type="submit" loading={isAsking} disabled={trimmed === ''}>
          Find out
        </Button>
      </Group>
    </form>
  )
}

function Answer({ diagnosis }: { readonly diagnosis: Diagnosis }): ReactElement {
  const { isWell, sentence, steps, missingNodes } = diagnosis
  return (
    <Stack gap="lg">
      <Alert
        color={isWell ? 'field' : 'orange'}
        variant="light"
        icon={<Icon name={isWell ? 'check' : 'alert'} />}
        role="status"
      >
        <Text span className="breakable">
          {sentence}
        </Text>
      </Alert>
      {missingNodes === undefined ? null : (
        <Text c="dimmed">These nodes did not answer, and nothing of them is shown: {missingNodes.join(', ')}.</Text>
      )}
      <Panel title="The way from the device to the client">
        <Stack component="ol" gap="md" m={0} p={0} style={{ listStyle: 'none' }}>
          {steps.map((step) => (
            <StepRow key={step.step} step={step} />
          ))}
        </Stack>
      </Panel>
    </Stack>
  )
}

function StepRow({ step }: { readonly step: DiagnosisStep }): ReactElement {
  const [word, color] = STATES[step.status]
  return (
    <li>
      <Group gap="xs">
        <Text span fw={600}>
          {STEP_NAMES[step.step] ?? step.step}
        </Text>
        <Badge color={color} variant="light" tt="none">
          {word}
        </Badge>
      </Group>
      <Text className="breakable">{step.sentence}</Text>
      {step.advice === '' ? null : (
        <Text fw={500} className="breakable">
          {step.advice}
        </Text>
      )}
      {step.facts.length === 0 ? null : (
        <Text component="div" size="sm" c="dimmed" mt={4}>
          <Facts facts={step.facts.map(({ name, value }) => [factName(name), value] as const)} />
        </Text>
      )}
    </li>
  )
}
