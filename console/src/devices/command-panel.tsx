/** The form that sends a command to a device, and the broker's answer. */
import { Button, Checkbox, Group, NumberInput, SegmentedControl, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent, ReactElement } from 'react'
import { deviceQueueKey } from '../api/device-queue.ts'
import type { BrokerConnection } from '../broker/broker-connection.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { contentOf } from './command-content.ts'
import type { CommandContent, ContentForm } from './command-content.ts'

interface CommandPanelProps {
  readonly devEui: string
  readonly topicName: string
  readonly connection: BrokerConnection | undefined
}

/** A Reason Code from this one on is a refusal (MQTT 5.0 §2.4). */
const FIRST_REFUSAL = 0x80

/** The panel. */
export function CommandPanel(props: CommandPanelProps): ReactElement {
  return (
    <Panel title="Send a command" lead="Published to the broker like any client’s, with its answer shown.">
      <CommandForm {...props} />
    </Panel>
  )
}

const EXAMPLES: Readonly<Record<ContentForm, string>> = {
  hex: '01 02 ff',
  base64: 'AQL/',
  object: '{"digitalOutput": {"1": 1}}',
}

function CommandForm({ devEui, topicName, connection }: CommandPanelProps): ReactElement {
  const [form, setForm] = useState<ContentForm>('hex')
  const [text, setText] = useState('')
  const [options, setOptions] = useState<CommandOptions>({ fPort: 10, confirmed: false })
  const content = contentOf(form, text)
  const publication = usePublication({ devEui, topicName, connection })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (content.ok) publication.mutate({ ...options, ...content.content })
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
          <OptionFields options={options} onChange={setOptions} />
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
        {publication.isSuccess ? (
          <Text size="sm" c="dimmed" role="status">
            The command is saved. Its progress is shown in the list of commands.
          </Text>
        ) : null}
      </Stack>
    </form>
  )
}

interface CommandOptions {
  /** "" while the field is empty. */
  readonly fPort: number | string
  readonly confirmed: boolean
}

interface OptionFieldsProps {
  readonly options: CommandOptions
  readonly onChange: (options: CommandOptions) => void
}

function OptionFields({ options, onChange }: OptionFieldsProps): ReactElement {
  return (
    <Group align="flex-end">
      <NumberInput
        label="Port"
        w={100}
        min={1}
        max={255}
        value={options.fPort}
        onChange={(fPort) => onChange({ ...options, fPort })}
        allowDecimal={false}
      />
      <Checkbox
        mb={8}
        label="Confirmed"
        checked={options.confirmed}
        onChange={(event) => onChange({ ...options, confirmed: event.currentTarget.checked })}
      />
    </Group>
  )
}

/** Publishes a command with an id of its own. A Reason Code that refuses it becomes an error. */
function usePublication({ devEui, topicName, connection }: CommandPanelProps) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async (command: CommandOptions & CommandContent) => {
      if (connection === undefined) throw new Error('The broker is not connected yet. Try again in a moment.')
      const payload = JSON.stringify({ id: crypto.randomUUID(), ...command })
      const { reasonCode, reasonString } = await connection.publish(topicName, payload)
      if (reasonCode < FIRST_REFUSAL) return
      throw new Error(`Refused (0x${reasonCode.toString(16)}): ${reasonString ?? 'the broker gave no reason'}`)
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: deviceQueueKey(devEui) }),
  })
}
