/** The history of a device over a day, a week, or all stored events. */
import { Alert, Select, SimpleGrid, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { ReactElement } from 'react'
import { eventBuckets } from '../api/event-buckets.ts'
import type { EventBucket, EventBuckets, Spread } from '../api/event-buckets.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { moment } from '../shell/moments.ts'
import { Panel } from '../shell/panel.tsx'
import { Plot } from './plot.tsx'
import type { Series } from './plot.tsx'

/** The spans that a person chooses from, in ms; undefined: all stored events. */
export const SPANS = { day: 86_400_000, week: 604_800_000, all: undefined } as const

interface HistoryPlotsProps {
  readonly devEui: string
  readonly span: keyof typeof SPANS
}

/** The plots. They are asked for anew each minute. */
export function HistoryPlots({ devEui, span }: HistoryPlotsProps): ReactElement {
  const length = SPANS[span]
  const buckets = useQuery({
    queryKey: ['event-buckets', devEui, span],
    queryFn: () => eventBuckets(devEui, length === undefined ? undefined : Date.now() - length),
    refetchInterval: 60_000,
  })
  if (buckets.data === undefined) {
    return buckets.isLoading ? (
      <Skeleton h={260} />
    ) : (
      <Failure error={buckets.error} onRetry={() => void buckets.refetch()} />
    )
  }
  return <Plots buckets={buckets.data} hasDates={span !== 'day'} />
}

function Plots({ buckets, hasDates }: { readonly buckets: EventBuckets; readonly hasDates: boolean }): ReactElement {
  const { from, to, result, values, truncated, completeFrom } = buckets
  const [chosen, setChosen] = useState<string | null>(null)
  const times = useMemo(() => result.map(({ time }) => Date.parse(time) / 1000), [result])
  const name = chosen !== null && values.includes(chosen) ? chosen : (values[0] ?? null)
  const plots = useMemo(() => seriesOf(result, name), [result, name])
  if (result.length === 0) {
    return (
      <Panel>
        <Blank icon="activity" title="No event in this span" text="Choose a longer one." />
      </Panel>
    )
  }
  // The first bucket may begin before the span.
  const first = Math.min(Date.parse(from) / 1000, times[0] ?? Infinity)
  const common = { times, hasDates, ends: [first, Date.parse(to) / 1000] as const }
  const hasBattery = result.some(({ battery }) => battery !== undefined)
  return (
    <>
      {truncated.some((reason) => reason !== 'values') ? (
        <Alert color="orange" title="Older events are left out">
          There are too many events for one answer. The plots begin at {moment(Date.parse(completeFrom))}.
        </Alert>
      ) : null}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Panel title="RSSI" lead="At the gateway that receives the device best: median, least and greatest.">
          <Plot {...common} series={plots.rssi} isBand label="RSSI over time" />
        </Panel>
        <Panel title="SNR" lead="At the same gateway: median, least and greatest.">
          <Plot {...common} series={plots.snr} isBand label="SNR over time" />
        </Panel>
        <Panel
          title="Lost uplinks and spreading factor"
          lead="Gaps of the frame counter, and the mean spreading factor."
        >
          <Plot {...common} series={plots.radio} startsAtZero label="Lost uplinks and spreading factor over time" />
        </Panel>
        {name === null ? null : (
          <Panel
            title="Values"
            lead="The numbers that the codec decodes: median, least and greatest."
            aside={
              values.length < 2 ? null : (
                <Select
                  aria-label="Value"
                  size="xs"
                  w={{ base: 140, xs: 200 }}
                  data={[...values]}
                  value={name}
                  onChange={setChosen}
                  allowDeselect={false}
                />
              )
            }
          >
            <Plot {...common} series={plots.value} isBand label={`${name} over time`} />
          </Panel>
        )}
        {hasBattery ? (
          <Panel title="Battery" lead="As the device tells its network server: median, least and greatest.">
            <Plot {...common} series={plots.battery} isBand label="Battery over time" />
          </Panel>
        ) : null}
      </SimpleGrid>
    </>
  )
}

function seriesOf(buckets: readonly EventBucket[], name: string | null) {
  return {
    rssi: band(
      'RSSI',
      'dBm',
      buckets.map(({ rssi }) => rssi),
    ),
    snr: band(
      'SNR',
      'dB',
      buckets.map(({ snr }) => snr),
    ),
    battery: band(
      'Battery',
      '%',
      buckets.map(({ battery }) => battery),
    ),
    value:
      name === null
        ? []
        : band(
            name,
            '',
            buckets.map(({ values }) => values[name]),
          ),
    radio: [
      { label: 'Lost', unit: '%', values: buckets.map(lostPercent) },
      { label: 'Spreading factor', unit: 'SF', values: buckets.map(meanFactor) },
    ],
  }
}

function band(label: string, unit: string, spreads: readonly (Spread | undefined)[]): readonly Series[] {
  return [
    { label, unit, values: spreads.map((spread) => spread?.median ?? null) },
    { label: 'least', unit, values: spreads.map((spread) => spread?.min ?? null) },
    { label: 'greatest', unit, values: spreads.map((spread) => spread?.max ?? null) },
  ]
}

function lostPercent({ uplinks, lost }: EventBucket): number | null {
  return uplinks === 0 ? null : Math.round((1000 * lost) / (uplinks + lost)) / 10
}

function meanFactor({ spreadingFactors }: EventBucket): number | null {
  let uplinks = 0
  let sum = 0
  for (const [factor, count] of Object.entries(spreadingFactors)) {
    uplinks += count
    sum += Number(factor) * count
  }
  return uplinks === 0 ? null : Math.round((10 * sum) / uplinks) / 10
}
