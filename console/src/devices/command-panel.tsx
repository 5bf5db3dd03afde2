/** Saying something to a device: the form, the broker's verdict, and what becomes of it. */
import { Button, Checkbox, Group, NumberInput, SegmentedControl, SimpleGrid, Stack, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactElement, useState } from 'react'
import type { BrokerConnection } from '../broker/broker-connection.ts'
import type { LiveEvent } from '../broker/live-event.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { type CommandContent, contentOf, type ContentForm } from './command-content.ts'
import { fatesOf, type SentCommand } from './command-fate.ts'
import { SentCommands } from './sent-commands.tsx'

interface CommandPanelProps {
  readonly topicName: string
  readonly connection: BrokerConnection | undefined
  /** Of the device, oldest first. */
  readonly events: readonly LiveEvent[]
}

/** Commands that the page remembers; the list is for watching, not a record. */
const REMEMBERED = 20

/** The form, and the commands that were sent from this page. */
export function CommandPanel({ topicName, connection, events }: CommandPanelProps): ReactElement {
  const [sent, setSent] = useState<readonly SentCommand[]>([])
  const remember = (command: SentCommand): void => setSent((before) => [...before, command].slice(-REMEMBERED))
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Panel title="Send a command" lead="Published to the broker like any client’s, with its answer shown.">
        <CommandForm topicName={topicName} connection={connection} onSent={remember} />
      </Panel>
      <Panel title="What became of it" lead="Of the commands that were sent from this page.">
        <SentCommands fates={fatesOf(sent, events)} />
      </Panel>
    </SimpleGrid>
  )
}

interface CommandFormProps {
  readonly topicName: string
  readonly connection: BrokerConnection | undefined
  readonly onSent: (command: SentCommand) => void
}

const EXAMPLES: Readonly<Record<ContentForm, string>> = {
  hex: '01 02 ff',
  base64: 'AQL/',
  object: '{"digitalOutput": {"1": 1}}',
}

function CommandForm({ topicName, connection, onSent }: CommandFormProps): ReactElement {
  const [form, setForm] = useState<ContentForm>('hex')
  const [text, setText] = useState('')
  const [fPort, setFPort] = useState<number | string>(10)
  const [isConfirmed, setConfirmed] = useState(false)
  const content = contentOf(form, text)
  const publication = useMutation({
    mutationFn: async (given: CommandContent) => {
      if (connection === undefined) throw new Error('The broker is not connected yet. Try again in a moment.')
      const id = crypto.randomUUID()
      const sentAtMs = Date.now()
      const command = { id, confirmed: isConfirmed, fPort, ...given }
      const answer = await connection.publish(topicName, JSON.stringify(command))
      onSent({ id, sentAtMs, isConfirmed, answer, shown: `port ${fPort}  ·  ${text.trim()}` })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (content.ok) publication.mutate(content.content)
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <SegmentedControl
          aria-label="How the command is written"
          value={form}
          onChange={setForm}
          data={[
            { value: 'hex', label: 'Hex' },
            { value: 'base64', label: 'Base64' },
            { value: 'object', label: 'Object' },
          ]}
        />
        <Textarea
          label={form === 'object' ? 'Object, encoded by the application’s codec' : 'Bytes'}
          placeholder={EXAMPLES[form]}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          error={text.trim() !== '' && !content.ok ? content.message : undefined}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={2}
          maxRows={8}
          spellCheck={false}
        />
        <Group align="flex-end" justify="space-between">
          <Group align="flex-end">
            <NumberInput
              label="Port"
              w={100}
              min={1}
              max={255}
              value={fPort}
              onChange={setFPort}
              allowDecimal={false}
            />
            <Checkbox
              mb={8}
              label="Confirmed"
              checked={isConfirmed}
              onChange={(event) => setConfirmed(event.currentTarget.checked)}
            />
          </Group>
          <Button
            type="submit"
            leftSection={<Icon name="send" />}
            loading={publication.isPending}
            disabled={!content.ok || text.trim() === ''}
          >
            Send
          </Button>
        </Group>
        <Failure error={publication.error} />
      </Stack>
    </form>
  )
}
