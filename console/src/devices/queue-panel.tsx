/** The commands of a device, and the fate of each. */
import { Badge, Button, Group, ScrollArea, Stack, Text } from '@mantine/core'
import type { MantineColor } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { ReactElement } from 'react'
import { cancelCommand, deviceQueueKey, useDeviceQueue } from '../api/device-queue.ts'
import type { QueuedCommand } from '../api/device-queue.ts'
import { sentenceOf } from '../api/sentence.ts'
import { hexOf } from '../broker/bytes.ts'
import type { LiveEvent } from '../broker/live-event.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { clockTime } from '../shell/moments.ts'
import { Panel } from '../shell/panel.tsx'
import classes from './queue-panel.module.css'

interface QueuePanelProps {
  readonly devEui: string
  /**
   * The device's events, the oldest first. An answer to a command among them causes a new request
   * for the list.
   */
  readonly events: readonly LiveEvent[]
}

const ANSWERS: ReadonlySet<string> = new Set(['txack', 'ack', 'error', 'log'])

/** The panel. */
export function QueuePanel({ devEui, events }: QueuePanelProps): ReactElement {
  const queue = useDeviceQueue(devEui)
  const queryClient = useQueryClient()
  const lastAnswer = events.findLast(({ kind }) => ANSWERS.has(kind))?.serial
  useEffect(() => {
    if (lastAnswer !== undefined) void queryClient.invalidateQueries({ queryKey: deviceQueueKey(devEui) })
  }, [queryClient, devEui, lastAnswer])
  return (
    <Panel title="Commands" lead="Waiting commands, and the results of the last 24 hours.">
      <Failure error={queue.error} onRetry={() => void queue.refetch()} />
      {queue.data?.length === 0 ? (
        <Blank
          icon="send"
          title="No command in the last day"
          text="Send one with the form. A device of class A hears it after its next uplink."
        />
      ) : (
        <ScrollArea.Autosize mah={420} type="auto">
          <Stack gap="lg" aria-live="polite">
            {queue.data?.map((command) => (
              <Command key={command.id} devEui={devEui} command={command} />
            ))}
          </Stack>
        </ScrollArea.Autosize>
      )}
    </Panel>
  )
}

const STATES: Readonly<Record<string, readonly [word: string, color: MantineColor]>> = {
  queued: ['waiting', 'gray'],
  sent: ['sent', 'field'],
  acknowledged: ['acknowledged', 'field'],
  not_acknowledged: ['not acknowledged', 'red'],
  unconfirmed: ['unconfirmed', 'orange'],
  failed: ['failed', 'red'],
  expired: ['expired', 'orange'],
  cancelled: ['cancelled', 'gray'],
}

function Command({ devEui, command }: { readonly devEui: string; readonly command: QueuedCommand }): ReactElement {
  const queryClient = useQueryClient()
  const cancellation = useMutation({
    mutationFn: () => cancelCommand(devEui, command.id),
    onError: (error) => notifications.show({ color: 'red', title: 'Not cancelled', message: sentenceOf(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: deviceQueueKey(devEui) }),
  })
  const [word, color] = STATES[command.state] ?? [command.state, 'gray']
  return (
    <div>
      <Group justify="space-between" wrap="nowrap">
        <Text ff="monospace" size="sm" truncate>
          port {command.fPort}
          {'  ·  '}
          {hexOf(command.data) ?? command.data}
        </Text>
        <Group gap="xs" wrap="nowrap">
          {command.state === 'queued' ? (
            <Button
              variant="subtle"
              color="red"
              size="compact-xs"
              loading={cancellation.isPending}
              onClick={() => cancellation.mutate()}
            >
              Cancel
            </Button>
          ) : null}
          <Badge variant="light" tt="none" color={color} className={classes['state']}>
            {word}
          </Badge>
        </Group>
      </Group>
      <ol className={classes['steps']}>
        {stepsOf(command).map(([at, text]) => (
          <li key={text}>
            {at === null ? null : (
              <Text span size="sm" c="dimmed" className="numbers" mr="xs">
                {clockTime(Date.parse(at))}
              </Text>
            )}
            <Text span size="sm">
              {text}
            </Text>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** The steps of a command, in order. The moment of a step is null where it is not known. */
function stepsOf(command: QueuedCommand): [at: string | null, text: string][] {
  const { state, createdAt, leftQueueAt, transmittedAt, fCnt, code, error, waitReason } = command
  const frame = fCnt === null ? '' : `, frame ${fCnt}`
  const steps: [string | null, string][] = [[createdAt, 'The service took it.']]
  if (leftQueueAt !== null && !['expired', 'cancelled'].includes(state)) {
    steps.push([leftQueueAt, 'The network server took it.'])
  }
  if (transmittedAt !== null) steps.push([transmittedAt, `A gateway sent it${frame}.`])
  const last = LAST_STEPS[state]
  if (last !== undefined) steps.push([null, error === '' || REPEATED.has(code) ? last : `${last} ${error}`])
  if (waitReason !== '') steps.push([null, `Waiting: ${waitReason}.`])
  return steps
}

const LAST_STEPS: Readonly<Record<string, string>> = {
  acknowledged: 'The device acknowledged it.',
  not_acknowledged: 'The device did not acknowledge it.',
  unconfirmed: 'Nobody knows whether the device has it:',
  failed: 'It failed:',
  expired: 'It waited until it expired.',
  cancelled: 'It was cancelled before it was sent.',
}

/** Codes whose sentences say the same as the last step. */
const REPEATED: ReadonlySet<string> = new Set(['command_expired', 'command_cancelled'])
