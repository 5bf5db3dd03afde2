/**
 * The devices that wait at all nodes. The events of one device may be kept by several nodes: the
 * asked node adds them up, and names the nodes that do not answer in time.
 */
import type { UnknownDevices } from '../lorawan/unknown-devices/unknown-devices.ts'
import { createWaitingDevices, devicesMeant, firstAtOf, waitingOf } from '../lorawan/unknown-devices/waiting-devices.ts'
import type { WaitingDevice, WaitingDevices, WaitingMeant } from '../lorawan/unknown-devices/waiting-devices.ts'
import type { Bus, NodeId } from '../nodes.ts'
import { Fitting } from './fitting.ts'

type Here = Pick<UnknownDevices, 'device' | 'devicesOf' | 'forget'>

/** How long the nodes are asked: a person waits. */
const ASK_MS = 2_000
/** A DevEUI, and the time of the first event as a double. */
const KEY_BYTES = 16
/**
 * Devices of one node among which a page is looked for: more do not fit into a message. Beyond it
 * the devices of the node are not counted, and a filter still finds them.
 */
const MAXIMUM_KEYS = 50_000
/** The questions for the devices of one page; each answer has as many as fit. */
const MAXIMUM_QUESTIONS = 50

const KEYS = 'unknown-devices.keys'
const DETAILS = 'unknown-devices.details'
const FORGET = 'unknown-devices.forget'

interface DetailsAsked {
  readonly owner: string | null
  readonly devEuis: readonly string[]
}

/** Makes the list of all nodes from the devices of this one, and answers the other nodes. */
export function createWaitingOfNodes(here: Here, bus: Bus): WaitingDevices {
  serve(here, bus)
  const own = createWaitingDevices(here)
  return {
    async page(meant, offset, limit) {
      const { answers, missing } = await bus.gather(KEYS, jsonOf(meant), ASK_MS)
      const places = new Map<string, Place>()
      for (const device of devicesMeant(here, meant)) note(places, device.devEui, firstAtOf(device))
      for (const { from, body } of answers) for (const [devEui, atMs] of keysIn(body)) note(places, devEui, atMs, from)
      const page = [...places]
        .toSorted(([one, { atMs: first }], [other, { atMs: second }]) => first - second || (one < other ? -1 : 1))
        .slice(offset, offset + limit)
      const nodes = new Set(page.flatMap(([, { nodes: holders }]) => holders))
      const found = await Promise.all(
        [...nodes].map((node) => {
          const devEuis = page.flatMap(([devEui, place]) => (place.nodes.includes(node) ? [devEui] : []))
          return detailsOf(bus, node, { owner: meant.owner, devEuis })
        }),
      )
      const parts = Map.groupBy(found.flat(), ({ devEui }) => devEui)
      const items = page.flatMap(([devEui]) => {
        const device = here.device(meant.owner, devEui)
        const all = [...(device === undefined ? [] : [waitingOf(device)]), ...(parts.get(devEui) ?? [])]
        // A device that was registered meanwhile is left out.
        return all.length === 0 ? [] : [all.reduce(together)]
      })
      return { totalCount: places.size, items, missing: missing.map(({ name }) => name) }
    },

    async forget(owner, devEui) {
      const isOwn = await own.forget(owner, devEui)
      const { answers } = await bus.gather(FORGET, jsonOf({ owner, devEuis: [devEui] }), ASK_MS)
      return isOwn || answers.some(({ body }) => body.toString() === 'forgotten')
    },
  }
}

/** The nodes other than this one at which a device waits, and since when it waits anywhere. */
interface Place {
  readonly atMs: number
  readonly nodes: readonly NodeId[]
}

function note(places: Map<string, Place>, devEui: string, atMs: number, node?: NodeId): void {
  const known = places.get(devEui)
  const nodes = [...(known?.nodes ?? []), ...(node === undefined ? [] : [node])]
  places.set(devEui, { atMs: Math.min(atMs, known?.atMs ?? atMs), nodes })
}

function together(one: WaitingDevice, other: WaitingDevice): WaitingDevice {
  return {
    ...(one.lastAtMs < other.lastAtMs ? other : one),
    eventCount: one.eventCount + other.eventCount,
    bytes: one.bytes + other.bytes,
    firstAtMs: Math.min(one.firstAtMs, other.firstAtMs),
  }
}

/** A node that does not answer any more has nothing to show. */
async function detailsOf(bus: Bus, node: NodeId, { owner, devEuis }: DetailsAsked): Promise<readonly WaitingDevice[]> {
  const found: WaitingDevice[] = []
  let left = devEuis
  for (let questions = 0; left.length > 0 && questions < MAXIMUM_QUESTIONS; questions += 1) {
    const asked = { owner, devEuis: left } satisfies DetailsAsked
    const came = await bus.request(node, DETAILS, jsonOf(asked), ASK_MS).then(
      (body) => valueOf(body) as readonly WaitingDevice[],
      () => [],
    )
    if (came.length === 0) break
    found.push(...came)
    // The answer has the first devices that are still there, in the order of the question.
    left = left.slice(left.indexOf(came.at(-1)?.devEui ?? '') + 1)
  }
  return found
}

/** Answers the other nodes with the devices of this one. */
function serve(here: Here, bus: Bus): void {
  bus.serve(KEYS, (body) => {
    const records: Buffer[] = []
    for (const device of devicesMeant(here, valueOf(body) as WaitingMeant)) {
      if (records.length >= MAXIMUM_KEYS) break
      const record = Buffer.alloc(KEY_BYTES)
      record.write(device.devEui, 'hex')
      record.writeDoubleBE(firstAtOf(device), KEY_BYTES / 2)
      records.push(record)
    }
    return Buffer.concat(records)
  })
  bus.serve(DETAILS, (body) => {
    const { owner, devEuis } = valueOf(body) as DetailsAsked
    const fitting = new Fitting<WaitingDevice>()
    for (const devEui of devEuis) {
      const device = here.device(owner, devEui)
      if (device !== undefined && !fitting.add(waitingOf(device))) break
    }
    return jsonOf(fitting.items)
  })
  bus.serve(FORGET, (body) => {
    const { owner, devEuis } = valueOf(body) as DetailsAsked
    return Buffer.from(devEuis.some((devEui) => here.forget(owner, devEui)) ? 'forgotten' : '')
  })
}

function* keysIn(body: Buffer): Iterable<readonly [string, number]> {
  for (let at = 0; at + KEY_BYTES <= body.length; at += KEY_BYTES) {
    const middle = at + KEY_BYTES / 2
    yield [body.toString('hex', at, middle), body.readDoubleBE(middle)]
  }
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function valueOf(body: Buffer): unknown {
  return JSON.parse(body.toString())
}
