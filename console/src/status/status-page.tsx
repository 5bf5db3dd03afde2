/** The health of the service: faults, organizations near a bound, load, and stored messages. */
import { Alert, Badge, Group, List, Progress, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { useMemo } from 'react'
import type { ReactElement, ReactNode } from 'react'
import { useServiceStatus } from '../api/broker-views.ts'
import type { LoadSample, ServiceNumbers, ServiceStatus } from '../api/broker-views.ts'
import { counted, rate, size } from '../connections/amounts.ts'
import { Plot } from '../devices/plot.tsx'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { Facts } from '../shell/facts.tsx'
import { NearBounds } from './near-bounds.tsx'
import { Nodes } from './nodes.tsx'
import { partLabel } from './parts.ts'
import { PausedWebhooks } from './paused-webhooks.tsx'
import { Servers } from './servers.tsx'
import classes from './status-page.module.css'

/** The page. */
export function StatusPage(): ReactElement {
  const status = useServiceStatus()
  return (
    <Page title="Status" lead="The health of the whole deployment." aside={<Wellness status={status.data} />}>
      <Failure error={status.error} onRetry={() => void status.refetch()} />
      <PausedWebhooks />
      {status.isLoading ? <Skeleton h={360} /> : null}
      {status.data === undefined ? null : <Content status={status.data} />}
    </Page>
  )
}

function Wellness({ status }: { readonly status: ServiceStatus | undefined }): ReactElement | null {
  if (status === undefined) return null
  return (
    <Badge
      size="lg"
      tt="none"
      variant="light"
      color={status.isWell ? 'field' : 'red'}
      leftSection={<Icon name={status.isWell ? 'check' : 'alert'} />}
    >
      {status.isWell ? 'All is well' : 'Something is not well'}
    </Badge>
  )
}

function Content({ status }: { readonly status: ServiceStatus }): ReactElement {
  const { numbers } = status
  if (numbers === null) return <Panel title="Service">{<About status={status} />}</Panel>
  return (
    <>
      <Faults numbers={numbers} />
      <NearBounds nearBounds={numbers.nearBounds} />
      <Now numbers={numbers} />
      <Nodes nodes={numbers.nodes} lost={numbers.lostNodes ?? []} />
      <Servers servers={numbers.servers} />
      <Throughput load={numbers.load} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Panel title="Stored messages">
          <Stored numbers={numbers} />
        </Panel>
        <Panel title="Service">
          <About status={status} />
        </Panel>
      </SimpleGrid>
    </>
  )
}

function Faults({ numbers }: { readonly numbers: ServiceNumbers }): ReactElement | null {
  const ill = numbers.parts.filter(({ isWell }) => !isWell)
  if (ill.length === 0) return null
  return (
    <Alert color="red" variant="light" icon={<Icon name="alert" />} title="Needs attention" role="alert">
      <List size="sm">
        {ill.map(({ name, reason }) => (
          <List.Item key={name}>
            {partLabel(name)}: {reason}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function Now({ numbers }: { readonly numbers: ServiceNumbers }): ReactElement {
  const last = numbers.load.at(-1)
  const busiest = numbers.load.slice(-12).reduce((most, { eventLoopDelayMs }) => Math.max(most, eventLoopDelayMs), 0)
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <Tile
        label="From clients"
        value={rate(last?.messagesInPerSecond ?? 0)}
        note={`${size(last?.bytesInPerSecond ?? 0)}/s`}
      />
      <Tile
        label="To clients"
        value={rate(last?.messagesOutPerSecond ?? 0)}
        note={`${size(last?.bytesOutPerSecond ?? 0)}/s`}
      />
      <Tile
        label="Connections"
        value={counted(numbers.connections)}
        note={`${counted(numbers.subscriptions)} subscriptions`}
      />
      <Tile label="Sessions" value={counted(numbers.sessions)} note="awake and asleep" />
      <Tile label="Memory" value={size(numbers.memoryBytes)} note="of the process" />
      <Tile label="Delay" value={`${busiest.toFixed(busiest < 10 ? 1 : 0)} ms`} note="at most, last minute" />
    </SimpleGrid>
  )
}

interface TileProps {
  readonly label: string
  readonly value: string
  readonly note: ReactNode
}

function Tile({ label, value, note }: TileProps): ReactElement {
  return (
    <div className={classes['tile']}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fz="1.375rem" fw={650} lh={1.3} className="numbers">
        {value}
      </Text>
      <Text size="xs" c="dimmed" className="numbers">
        {note}
      </Text>
    </div>
  )
}

const MESSAGES_LABEL = 'Messages a second, from and to clients'
const PRESSURE_LABEL = 'Connections and delay over time'

function Nothing(): ReactElement {
  return (
    <Blank icon="gauge" title="Measuring" text="The service has just started: the first numbers come in seconds." />
  )
}

function Throughput({ load }: { readonly load: readonly LoadSample[] }): ReactElement {
  const times = useMemo(() => load.map(({ at }) => Date.parse(at) / 1000), [load])
  const messages = useMemo(
    () => [
      { label: 'From clients', unit: '/s', values: load.map(({ messagesInPerSecond }) => messagesInPerSecond) },
      { label: 'To clients', unit: '/s', values: load.map(({ messagesOutPerSecond }) => messagesOutPerSecond) },
    ],
    [load],
  )
  const pressure = useMemo(
    () => [
      { label: 'Connections', unit: '', values: load.map(({ connections }) => connections) },
      { label: 'Delay', unit: 'ms', values: load.map(({ eventLoopDelayMs }) => eventLoopDelayMs) },
    ],
    [load],
  )
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Panel title="Messages" lead="Messages in each second of the last quarter of an hour.">
        {load.length < 2 ? <Nothing /> : <Plot times={times} series={messages} startsAtZero label={MESSAGES_LABEL} />}
      </Panel>
      <Panel title="Pressure" lead="The number of connections, and the delay of the service’s answers.">
        {load.length < 2 ? <Nothing /> : <Plot times={times} series={pressure} startsAtZero label={PRESSURE_LABEL} />}
      </Panel>
    </SimpleGrid>
  )
}

function Stored({ numbers }: { readonly numbers: ServiceNumbers }): ReactElement {
  const { storedMessages, storedBytes, oldestStoredAt, retentionDays, retentionBytes } = numbers
  const { diskFreeBytes, diskTotalBytes } = numbers
  const retention =
    retentionDays === null || retentionBytes === null
      ? 'until the service restarts'
      : `${retentionDays} days, at most ${size(retentionBytes)}`
  return (
    <Facts
      facts={[
        ['Messages', `${counted(storedMessages)}, ${size(storedBytes)}`],
        ['Oldest', <When key="oldest" at={oldestStoredAt} never="none yet" />],
        ['Kept', retention],
        [
          'Disk',
          diskFreeBytes === null || diskTotalBytes === null ? (
            'unknown'
          ) : (
            <Disk key="disk" freeBytes={Number(diskFreeBytes)} totalBytes={Number(diskTotalBytes)} />
          ),
        ],
      ]}
    />
  )
}

/** Above this share of the disk, the status warns. */
const NEARLY_FULL_PERCENT = 90

function Disk({ freeBytes, totalBytes }: { readonly freeBytes: number; readonly totalBytes: number }): ReactElement {
  const percent = totalBytes === 0 ? 0 : Math.round((1 - freeBytes / totalBytes) * 100)
  return (
    <>
      {size(freeBytes)} free of {size(totalBytes)}
      <Progress
        mt={6}
        value={percent}
        color={percent >= NEARLY_FULL_PERCENT ? 'red' : 'field'}
        aria-label={`${percent} % of the disk are in use`}
      />
    </>
  )
}

function About({ status }: { readonly status: ServiceStatus }): ReactElement {
  return (
    <Facts
      facts={[
        ['Version', `${status.version} on ${status.runtime}`],
        ['Started', <When key="started" at={status.startedAt} />],
        [
          'Health',
          <Group key="health" gap={6}>
            {(status.numbers?.parts ?? []).map(({ name, isWell }) => (
              <Badge key={name} variant="light" tt="none" color={isWell ? 'field' : 'red'}>
                {partLabel(name)}
              </Badge>
            ))}
          </Group>,
        ],
      ]}
    />
  )
}
