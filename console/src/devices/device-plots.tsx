/** The signal and the decoded numbers of a device over time. */
import { Group, SegmentedControl, Select, SimpleGrid } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { ReactElement } from 'react'
import { leavesOf } from '../broker/live-event.ts'
import type { LiveEvent } from '../broker/live-event.ts'
import { Blank } from '../shell/blank.tsx'
import { Panel } from '../shell/panel.tsx'
import { HistoryPlots } from './history-plots.tsx'
import type { SPANS } from './history-plots.tsx'
import { Plot } from './plot.tsx'
import type { Series } from './plot.tsx'

interface DevicePlotsProps {
  readonly devEui: string
  /** The newest events, the oldest of them first. */
  readonly events: readonly LiveEvent[]
}

/** The plots of the newest uplinks, or of a longer span. */
export function DevicePlots({ devEui, events }: DevicePlotsProps): ReactElement {
  const [span, setSpan] = useState<keyof typeof SPANS | 'live'>('live')
  return (
    <>
      <Group justify="flex-end">
        <SegmentedControl<typeof span>
          aria-label="Time range"
          size="xs"
          value={span}
          onChange={setSpan}
          data={[
            { value: 'live', label: 'Newest' },
            { value: 'day', label: '24 hours' },
            { value: 'week', label: '7 days' },
            { value: 'all', label: 'All' },
          ]}
        />
      </Group>
      {span === 'live' ? <LivePlots events={events} /> : <HistoryPlots devEui={devEui} span={span} />}
    </>
  )
}

function LivePlots({ events }: { readonly events: readonly LiveEvent[] }): ReactElement {
  const uplinks = useMemo(() => events.filter(({ kind }) => kind === 'up'), [events])
  const times = useMemo(() => uplinks.map(({ receivedAtMs }) => receivedAtMs / 1000), [uplinks])
  const values = useMemo(() => numbersOf(uplinks), [uplinks])
  const [chosen, setChosen] = useState<string | null>(null)
  const name = chosen !== null && values.has(chosen) ? chosen : ([...values.keys()][0] ?? null)
  const signal: readonly Series[] = useMemo(
    () => [
      { label: 'RSSI', unit: 'dBm', values: uplinks.map(({ rssi }) => rssi ?? null) },
      { label: 'SNR', unit: 'dB', values: uplinks.map(({ snr }) => snr ?? null) },
    ],
    [uplinks],
  )
  const measured: readonly Series[] = useMemo(
    () => (name === null ? [] : [{ label: name, unit: '', values: values.get(name) ?? [] }]),
    [name, values],
  )
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Panel title="Signal" lead="The signal at the gateway that receives the device best.">
        {uplinks.length === 0 ? <Nothing /> : <Plot times={times} series={signal} label="RSSI and SNR over time" />}
      </Panel>
      <Panel
        title="Values"
        lead="The numbers that the codec decodes."
        aside={
          values.size < 2 ? null : (
            <Select
              aria-label="Value"
              size="xs"
              w={{ base: 140, xs: 200 }}
              data={[...values.keys()]}
              value={name}
              onChange={setChosen}
              allowDeselect={false}
            />
          )
        }
      >
        {name === null ? <Nothing /> : <Plot times={times} series={measured} label={`${name} over time`} />}
      </Panel>
    </SimpleGrid>
  )
}

function Nothing(): ReactElement {
  return (
    <Blank icon="activity" title="Waiting for an uplink" text="The plot begins with the first uplink that arrives." />
  )
}

/** The decoded numbers by name, one for each uplink; null where an uplink has none. */
function numbersOf(uplinks: readonly LiveEvent[]): ReadonlyMap<string, readonly (number | null)[]> {
  const columns = new Map<string, (number | null)[]>()
  for (const [index, { object }] of uplinks.entries()) {
    for (const [name, value] of leavesOf(object)) {
      if (typeof value !== 'number') continue
      const column = columns.get(name) ?? Array.from({ length: uplinks.length }, () => null)
      column[index] = value
      columns.set(name, column)
    }
  }
  return columns
}
