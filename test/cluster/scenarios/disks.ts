/** Disks of servers of NATS that lose their power, or are full. */
import { mkdtempSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scenario, Stage } from '../scenario.ts'
import { SmallDisk } from '../small-disk.ts'
import { until } from '../until.ts'
import { answersWithoutQuorum } from './nats-servers.ts'

const LONGEST_MS = 60_000
const BEFORE = 50
/** Room for the streams of some hundred rounds. */
const MEGABYTES = 512
/** Messages wait for so long before they are refused, ms. */
const REFUSED_MS = 30_000
/** Without an acknowledgement for so long, there will be none, ms. */
const STANDSTILL_MS = 3_000
/** Room that a server of NATS makes by removing files of its own is taken after so long, ms. */
const FILL_AGAIN_MS = 100

let whyNot: { readonly reason: string | undefined } | undefined

/** The reason for which no disk can be mounted here. Looked for once, when somebody asks. */
function noDisk(): string | undefined {
  if (whyNot === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'fieldgate-disk-'))
    whyNot = { reason: SmallDisk.whyNot(folder) }
    rmSync(folder, { recursive: true, force: true })
  }
  return whyNot.reason
}

export const DISKS: readonly Scenario[] = [
  {
    number: 22,
    title: 'power cuts of one disk of NATS, and of all together with all nodes',
    nodes: 1,
    get impossible() {
      return noDisk()
    },
    run: cutPower,
  },
  {
    number: 24,
    title: 'the disks of one and of two servers of NATS are full',
    nodes: 1,
    get impossible() {
      return noDisk()
    },
    run: fillDisks,
  },
]

type Disks = ReadonlyMap<string, SmallDisk>

/** Gives each server of NATS a disk of its own while the work is done. */
async function onDisks(stage: Stage, work: (disks: Disks) => Promise<void>): Promise<void> {
  const { cluster } = stage
  const { servers } = cluster
  const disks = new Map<string, SmallDisk>()
  try {
    for (const name of servers.names) {
      await whileEnded(stage, name, () => void disks.set(name, new SmallDisk(servers.storeOf(name), MEGABYTES)))
    }
    await work(disks)
  } finally {
    await cluster.heal()
    for (const [name, disk] of disks) await whileEnded(stage, name, () => disk.unmount())
  }
}

/** Ends the server in order for the work. Resolves when all servers have everything again. */
async function whileEnded({ cluster }: Stage, name: string, work: () => void): Promise<void> {
  await cluster.stopServer(name)
  try {
    work()
  } finally {
    cluster.startServer(name)
  }
  await cluster.servers.ready()
  const { lacking } = await cluster.replicated(LONGEST_MS)
  if (lacking.length > 0) throw new Error(`a server stays behind after the end of ${name}: ${lacking.join(', ')}`)
}

async function cutPower(stage: Stage): Promise<void> {
  const { cluster, load } = stage
  await onDisks(stage, async (disks) => {
    await load.acknowledges(BEFORE, LONGEST_MS)
    const name = stage.any(cluster.servers.names)
    load.resetGaps()
    disks.get(name)?.cutPower()
    await cluster.killServer(name)
    await load.acknowledges(BEFORE, LONGEST_MS)
    stage.bar('publishing gap after the power cut of one disk', load.longestGapMs(), 10_000)
    disks.get(name)?.remount()
    cluster.startServer(name)
    await cluster.servers.ready()
    stage.bar('until it had all streams again', (await cluster.replicated(LONGEST_MS)).tookMs, LONGEST_MS)
    await load.acknowledges(BEFORE, LONGEST_MS)
    for (const disk of disks.values()) disk.cutPower()
    // No node may know from its memory what the disks have lost.
    await Promise.all([
      ...stage.nodes.map((node) => node.kill()),
      ...cluster.servers.names.map((one) => cluster.killServer(one)),
    ])
    for (const disk of disks.values()) disk.remount()
    const startMs = performance.now()
    await cluster.heal()
    await load.acknowledges(BEFORE, LONGEST_MS)
    stage.bar('from the start of all parts to new acknowledgements', performance.now() - startMs, 30_000)
    await noHoles(stage)
  })
}

async function fillDisks(stage: Stage): Promise<void> {
  const { cluster, load } = stage
  await onDisks(stage, async (disks) => {
    const first = await cluster.leader()
    const second = cluster.servers.names.find((name) => name !== first) as string
    load.resetGaps()
    const full = [first, second]
    const [one, two] = full.map((name) => disks.get(name) as SmallDisk) as [SmallDisk, SmallDisk]
    const filled = [one]
    await whileFull(filled, async () => {
      await load.acknowledges(BEFORE, LONGEST_MS)
      await load.acknowledges(BEFORE, LONGEST_MS)
      stage.bar('publishing gap with a full disk at the leader', load.longestGapMs(), REFUSED_MS)
      await answersWithoutQuorum(stage, async () => {
        await two.fill()
        filled.push(two)
        await standstill(stage)
      })
    })
    for (const disk of filled) disk.empty()
    // As an operator does: nobody has tried whether they go on by themselves.
    for (const name of full) await cluster.killServer(name)
    for (const name of full) cluster.startServer(name)
    const backMs = await load.acknowledges(BEFORE, LONGEST_MS)
    stage.bar('until messages were acknowledged again', backMs, 30_000)
    await cluster.servers.ready()
    stage.bar('until all servers had all streams', (await cluster.replicated(LONGEST_MS)).tookMs, LONGEST_MS)
    await noHoles(stage)
  })
}

/** Keeps the disks full until the work is done. The work begins when they are full. */
async function whileFull(disks: readonly SmallDisk[], work: () => Promise<void>): Promise<void> {
  const over = new AbortController()
  const fill = async (): Promise<void> => {
    for (const disk of disks) await disk.fill()
  }
  await fill()
  const filling = (async () => {
    while (!over.signal.aborted) {
      await sleep(FILL_AGAIN_MS)
      await fill()
    }
  })()
  // It is waited for at the end.
  filling.catch(() => undefined)
  try {
    await work()
  } finally {
    over.abort()
    await filling
  }
}

/** A server that lacks what others have would show less to a reader that asks it. */
async function noHoles({ cluster, faults }: Stage): Promise<void> {
  for (const words of await cluster.holes()) faults.add('bars', words)
}

/** The last blocks of open files still have some room. Resolves when nothing is acknowledged. */
async function standstill(stage: Stage): Promise<void> {
  const { load } = stage
  let [acknowledged, sinceMs] = [load.acknowledged, performance.now()]
  const isStill = (): boolean => {
    if (load.acknowledged !== acknowledged) [acknowledged, sinceMs] = [load.acknowledged, performance.now()]
    return performance.now() - sinceMs > STANDSTILL_MS
  }
  stage.must(
    (await until(isStill, LONGEST_MS)) < Infinity,
    'messages are acknowledged though two of three disks are full',
  )
}
