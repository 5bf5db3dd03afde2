/** One event: its values, its bytes, and the message as it came. */
import { Anchor, Group, SegmentedControl, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { hexOf } from '../broker/bytes.ts'
import { leavesOf } from '../broker/live-event.ts'
import type { LiveEvent } from '../broker/live-event.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { moment } from '../shell/moments.ts'
import { KindBadge } from './kind-badge.tsx'

/** The decoded values and the bytes, beside each other where there is room. */
export function EventDetail({ event }: { readonly event: LiveEvent }): ReactElement {
  return (
    <Stack gap="md">
      <Group gap="sm">
        <KindBadge kind={event.kind} isFault={event.isFault} />
        <Anchor component={Link} href={`/devices/${event.devEui}`} fw={600}>
          {event.deviceName || event.devEui}
        </Anchor>
        <Text size="sm" c="dimmed">
          {moment(event.receivedAtMs)}
        </Text>
      </Group>
      <Facts event={event} />
      <SimpleGrid cols={1} spacing="md">
        <Decoded event={event} />
        {event.data === undefined ? null : <Bytes base64={event.data} />}
        <CodeBlock title="Message as it came" text={prettyJson(event.text)} maxHeight={300} />
      </SimpleGrid>
      <Text size="xs" c="dimmed" ff="monospace" className="breakable">
        {event.topicName}
      </Text>
    </Stack>
  )
}

function Facts({ event }: { readonly event: LiveEvent }): ReactElement | null {
  const facts = [
    ['DevEUI', event.devEui],
    ['Port', event.fPort],
    ['Frame', event.fCnt],
    ['Signal', event.rssi === undefined ? undefined : `${event.rssi} dBm, ${event.snr ?? '?'} dB`],
  ].filter(([, value]) => value !== undefined)
  return (
    <Group gap="lg">
      {facts.map(([name, value]) => (
        <div key={name}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Text size="sm" fw={500} className="numbers">
            {value}
          </Text>
        </div>
      ))}
    </Group>
  )
}

function Decoded({ event }: { readonly event: LiveEvent }): ReactElement | null {
  if (event.object === undefined) return null
  const leaves = leavesOf(event.object)
  return (
    <Table withTableBorder horizontalSpacing="sm" verticalSpacing={6} aria-label="Decoded values">
      <Table.Tbody>
        {leaves.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Td c="dimmed">{name}</Table.Td>
            <Table.Td ta="right" fw={500} className="numbers">
              {String(value)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Bytes({ base64 }: { readonly base64: string }): ReactElement {
  const [form, setForm] = useState<'hex' | 'base64'>('hex')
  const hex = hexOf(base64)
  const count = hex === undefined || hex === '' ? 0 : hex.split(' ').length
  return (
    <Stack gap={6}>
      <Group justify="space-between">
        <Text size="sm" fw={500}>
          Bytes{' '}
          <Text span c="dimmed" size="sm">
            ({count})
          </Text>
        </Text>
        <SegmentedControl
          size="xs"
          aria-label="How bytes are written"
          value={form}
          onChange={setForm}
          data={[
            { value: 'hex', label: 'Hex' },
            { value: 'base64', label: 'Base64' },
          ]}
        />
      </Group>
      <CodeBlock
        title={form === 'hex' ? 'Hexadecimal' : 'Base64'}
        text={form === 'hex' ? (hex ?? 'not base64') : base64}
        maxHeight={140}
      />
    </Stack>
  )
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
