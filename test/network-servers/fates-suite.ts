/** Every fate that a command can have in a real network server, and how Fieldgate reports it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ErrorWithReasonCode } from 'mqtt'
import type { LorawanDevice } from '../../simulator/lorawan/device.ts'
import { refuseAll, sendFirst } from '../../simulator/lorawan/transmit-policy.ts'
import { join } from './place.ts'
import type { Place, Way } from './place.ts'
import type { Places } from './places.ts'
import { ask, pumpUntil } from './radio-pump.ts'

/** The state, with `transmitted` behind it if a gateway has sent the command. */
type Fate = string

interface Case {
  readonly title: string
  /** Sends the command `c` and causes its fate. Returns the DevEUI. */
  run(place: Place): Promise<string>
  readonly fate: Readonly<Record<Way, Fate>>
}

const ID = 'c'
const DATA = 'AQID'

const everywhere = (fate: Fate): Readonly<Record<Way, Fate>> => ({
  'v4-mqtt': fate,
  'v4-grpc': fate,
  'v4-bridge': fate,
  v3: fate,
})

const CASES: readonly Case[] = [
  {
    title: 'that a gateway sends is transmitted',
    fate: everywhere('sent transmitted'),
    run: async (place) => {
      const device = await place.joinedDevice()
      await place.integrator.command(device.devEui, { id: ID, data: DATA })
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      assert.equal(device.received[0]?.payload.toString('base64'), DATA)
      return device.devEui
    },
  },
  {
    title: 'that the device acknowledges is acknowledged',
    fate: everywhere('acknowledged transmitted'),
    run: async (place) => {
      const device = await place.joinedDevice()
      await place.integrator.command(device.devEui, { id: ID, data: DATA, confirmed: true })
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      await device.emptyUplink()
      return device.devEui
    },
  },
  {
    title: 'for a device of class C is transmitted without an uplink, and acknowledged',
    fate: everywhere('acknowledged transmitted'),
    run: async (place) => {
      // A busy machine takes seconds for the acknowledgement.
      const device = await place.joinedDevice({ deviceClass: 'C', acknowledgementSeconds: 20 })
      const frame = device.nextFrame(({ fPort }) => fPort === 10, 20_000)
      await place.integrator.command(device.devEui, { id: ID, data: DATA, confirmed: true })
      assert.equal((await frame).payload.toString('base64'), DATA)
      return device.devEui
    },
  },
  {
    title: 'that the device does not acknowledge is not_acknowledged',
    fate: everywhere('not_acknowledged transmitted'),
    run: async (place) => {
      const device = await place.joinedDevice()
      device.isAcknowledging = false
      await place.integrator.command(device.devEui, { id: ID, data: DATA, confirmed: true })
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      await device.emptyUplink()
      return device.devEui
    },
  },
  {
    title: 'that expires in the network server has expired; v3 knows no expiry and sends it',
    fate: { ...everywhere('expired'), v3: 'sent transmitted' },
    run: async (place) => {
      const device = await place.joinedDevice()
      const expiresAt = new Date(Date.now() + 3_000).toISOString()
      await place.integrator.command(device.devEui, { id: ID, data: DATA, expiresAt })
      await place.untilQueued(device.devEui, 1)
      await untilPast(expiresAt)
      await pumpUntil([device], () => false, 2_000)
      return device.devEui
    },
  },
  {
    title: 'for a device that the network server does not know is refused by gRPC (0x83), and unconfirmed by MQTT',
    fate: { ...everywhere('unconfirmed'), 'v4-grpc': 'refused with 131' },
    run: async (place) => {
      const { devEui } = await place.device({ isKnownThere: false })
      await place.integrator.command(devEui, { id: ID, data: DATA })
      return devEui
    },
  },
  {
    title: 'for a device that has never joined waits for it in v4; v3 drops it',
    fate: { ...everywhere('sent transmitted'), v3: 'unconfirmed' },
    run: async (place) => {
      const device = await place.device()
      await place.integrator.command(device.devEui, { id: ID, data: DATA })
      if (place.way === 'v3') return device.devEui
      await place.untilQueued(device.devEui, 1)
      await join(device)
      await ask(device)
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      return device.devEui
    },
  },
  {
    title: 'that is too long for the data rate has failed',
    fate: everywhere('failed'),
    run: async (place) => {
      const device = await place.joinedDevice()
      device.isAdaptive = false
      await place.integrator.command(device.devEui, { id: ID, data: Buffer.alloc(200, 1).toString('base64') })
      await place.untilQueued(device.devEui, 1)
      const keepSlow = (): boolean => {
        // SF12 carries at most 51 bytes. The answer to the first uplink may ask for a faster rate,
        // even late.
        device.mac.dataRate = 0
        return false
      }
      await pumpUntil([device], keepSlow, 2_000)
      return device.devEui
    },
  },
  {
    title: 'with an fPort of 225 is sent by v4; v3 would drop it in silence, so it fails before it goes there',
    fate: { ...everywhere('sent transmitted'), v3: 'failed' },
    run: async (place) => {
      const device = await place.joinedDevice()
      await place.integrator.command(device.devEui, { id: ID, fPort: 225, data: DATA })
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      return device.devEui
    },
  },
  {
    title: 'that somebody flushes in the network server is unconfirmed',
    fate: everywhere('unconfirmed'),
    run: async (place) => {
      const device = await place.joinedDevice()
      await place.integrator.command(device.devEui, { id: ID, data: DATA })
      await place.untilQueued(device.devEui, 1)
      await place.networkServer.flushQueue(device.devEui)
      return device.devEui
    },
  },
  {
    title: 'that the gateway can not send is kept by ChirpStack and sent with the next uplink',
    fate: everywhere('sent transmitted'),
    run: async (place) => {
      const device = await place.joinedDevice()
      await place.integrator.command(device.devEui, { id: ID, data: DATA })
      await place.untilQueued(device.devEui, 1)
      place.gateway.policy = (command, leftMs) =>
        command.items.some(({ phyPayload }) => isAddressedTo(device, phyPayload))
          ? refuseAll('TOO_LATE')(command, leftMs)
          : sendFirst(command, leftMs)
      const kind = place.way === 'v3' ? 'error' : 'log'
      await device.uplink(1, Buffer.from([0]))
      try {
        await place.integrator.find('the refusal', (event) => event.devEui === device.devEui && event.kind === kind)
      } finally {
        place.gateway.policy = sendFirst
      }
      await pumpUntil([device], ({ received }) => received.length > 0, 20_000)
      return device.devEui
    },
  },
]

/**
 * Fieldgate's setting in these tests: how long it waits for a network server's word about a
 * command.
 */
export const WORD_SECONDS = 30
const FATE_MS = (WORD_SECONDS + 20) * 1_000

export function testFates(places: () => Places, way: Way): void {
  it(`${way}: each command comes to its one fate`, async () => {
    const place = places().of(way)
    const outcomes = await Promise.all(CASES.map((one) => outcomeOf(one, place)))
    const expected = CASES.map(({ title, fate }) => `a command ${title}: ${fate[way]}`)
    assert.deepEqual(outcomes, expected)
  })
}

async function outcomeOf(one: Case, place: Place): Promise<string> {
  const { title, fate } = one
  let devEui: string
  try {
    devEui = await one.run(place)
  } catch (error) {
    if (!(error instanceof ErrorWithReasonCode)) throw error
    return `a command ${title}: refused with ${error.code}`
  }
  let seen = ''
  const isIt = (command: { readonly state: string; readonly transmittedAt: string | null }): boolean => {
    seen = command.transmittedAt === null ? command.state : `${command.state} transmitted`
    return seen === fate[place.way]
  }
  // If the command has another fate in the end, the assertion below reports it.
  await place.fieldgate.untilCommand(devEui, ID, isIt, FATE_MS).catch(() => {})
  return `a command ${title}: ${seen}`
}

async function untilPast(time: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, Math.max(Date.parse(time) - Date.now() + 100, 0))
  await promise
}

/** The address is on the air with its last byte first. */
function isAddressedTo({ session }: LorawanDevice, phyPayload: Buffer): boolean {
  return session !== undefined && phyPayload.readUInt32LE(1) === session.devAddr.readUInt32BE(0)
}
