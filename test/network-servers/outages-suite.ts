/**
 * Sends 40 commands while a part is away: each reaches its device once and in order, and has a
 * fate.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LorawanDevice } from '../../simulator/lorawan/device.ts'
import type { Place, Way } from './place.ts'
import type { Places } from './places.ts'
import { bytesOf, pumpUntil } from './radio-pump.ts'

const DEVICES = 4
const COMMANDS_OF_A_DEVICE = 10
/** The time from one command to the next. */
const PACE_MS = 100
const AWAY_MS = 5_000
const IN_TIME_MS = 90_000

/** A part that goes away and comes back. */
interface Outage {
  readonly title: string
  readonly ways: readonly Way[]
  goAway(places: Places, way: Way): Promise<void>
  comeBack(places: Places, way: Way): Promise<void>
}

/** The part of a ChirpStack with which Fieldgate speaks. */
function chirpStackOf(places: Places, way: Way) {
  const part =
    { v3: places.v3?.applicationServer, 'v4-bridge': places.v4Bridged?.part }[way as string] ?? places.v4?.part
  const databasePath = (way === 'v3' ? places.v3 : way === 'v4-bridge' ? places.v4Bridged : places.v4)?.databasePath
  assert.ok(part !== undefined && databasePath !== undefined)
  return { part, databasePath }
}

const ALL: readonly Way[] = ['v4-mqtt', 'v4-grpc', 'v4-bridge', 'v3']

export const OUTAGES_OF_OTHERS: readonly Outage[] = [
  {
    title: 'ChirpStack is killed',
    ways: ALL,
    goAway: (places, way) => chirpStackOf(places, way).part.kill(),
    comeBack: (places, way) => chirpStackOf(places, way).part.start(),
  },
  {
    title: 'ChirpStack stands still',
    ways: ALL,
    goAway: async (places, way) => chirpStackOf(places, way).part.freeze(),
    comeBack: async (places, way) => chirpStackOf(places, way).part.thaw(),
  },
  {
    title: "ChirpStack's PostgreSQL can not be reached",
    // Over MQTT, ChirpStack acknowledges a command before it uses its database, and drops it: the
    // command ends as `unconfirmed`.
    ways: ALL,
    goAway: async (places, way) => chirpStackOf(places, way).databasePath.cut(),
    comeBack: async (places, way) => chirpStackOf(places, way).databasePath.mend(),
  },
  {
    title: "ChirpStack's broker is killed",
    ways: ['v4-bridge'],
    goAway: ({ bridgedBroker }) => bridgedBroker?.part.kill() ?? Promise.resolve(),
    comeBack: ({ bridgedBroker }) => bridgedBroker?.part.start() ?? Promise.resolve(),
  },
  {
    title: 'the path of gRPC is cut',
    ways: ['v4-grpc'],
    goAway: async ({ grpcPath }) => grpcPath?.cut(),
    comeBack: async ({ grpcPath }) => grpcPath?.mend(),
  },
  {
    title: 'the path of gRPC is silent',
    ways: ['v4-grpc'],
    goAway: async ({ grpcPath }) => grpcPath?.silence(),
    comeBack: async ({ grpcPath }) => grpcPath?.mend(),
  },
]

export const OUTAGES_OF_FIELDGATE: readonly Outage[] = [
  {
    title: 'Fieldgate is killed',
    ways: ALL,
    goAway: ({ fieldgate }) => fieldgate.kill(),
    comeBack: ({ fieldgate }) => fieldgate.comeBack(),
  },
]

export function testOutages(places: () => Places, ways: readonly Way[], outages: readonly Outage[]): void {
  for (const outage of outages) {
    for (const way of outage.ways.filter((each) => ways.includes(each))) {
      it(`${way}: ${outage.title} amid ${DEVICES * COMMANDS_OF_A_DEVICE} commands: none is lost, doubled, turned round or without a fate`, async () => {
        const place = places().of(way)
        await learnHowItTells(place)
        const devices = await Promise.all(Array.from({ length: DEVICES }, () => place.joinedDevice()))
        const numbers = Array.from({ length: COMMANDS_OF_A_DEVICE }, (_each, number) => number)
        const sending: Promise<void>[] = []
        for (const number of numbers) {
          if (number === 2) await outage.goAway(places(), way)
          for (const { devEui } of devices) {
            const data = Buffer.from([number]).toString('base64')
            sending.push(place.integrator.command(devEui, { id: idOf(devEui, number), data }))
            await sleep(PACE_MS)
          }
        }
        await sleep(AWAY_MS)
        await outage.comeBack(places(), way)
        await Promise.all(sending)
        await pumpUntil(devices, (device) => countOfAnswers(device) >= numbers.length, IN_TIME_MS)
        // A doubled command would come behind them.
        await pumpUntil(devices, () => false, 1_500)
        for (const device of devices) await assertBars(place, device, numbers)
      })
    }
  }
}

/** Places whose network server has been seen to report the fates of commands. */
const telling = new WeakSet<Place>()

/**
 * Lets Fieldgate learn that the network server reports fates. The events of a ChirpStack v3 name no
 * command, so Fieldgate has to see two of them before it knows that they come. Until then, it waits
 * 5 s for news of a command, and then sends the next one: in an outage, such commands would end as
 * `unconfirmed`.
 */
async function learnHowItTells(place: Place): Promise<void> {
  if (place.way !== 'v3' || telling.has(place)) return
  const device = await place.joinedDevice()
  for (const number of [0, 1]) {
    await place.integrator.command(device.devEui, { id: idOf(device.devEui, number), data: 'AA==' })
    await pumpUntil([device], ({ received }) => received.length > number, IN_TIME_MS)
    await place.integrator.find('the txack', ({ devEui, kind, body }) => {
      return devEui === device.devEui && kind === 'txack' && body.commandId === idOf(device.devEui, number)
    })
  }
  telling.add(place)
}

/**
 * The number of frames with commands, including frames that the device rejected because their frame
 * counter was used twice.
 */
function countOfAnswers({ received, notTaken }: LorawanDevice): number {
  return received.length + notTaken.filter((reason) => reason === 'repeated_fcnt').length
}

/**
 * Checks that each command has come once, in order, and is reported as transmitted. There are two
 * exceptions. Over MQTT, a network server that dies with a command tells nobody, and its event
 * about a command may get lost: such a command is `unconfirmed`, whether it has come or not. A
 * ChirpStack v4 that answers late, and gets the device's next uplink meanwhile, sends two commands
 * with one frame counter: the device accepts only one.
 */
async function assertBars(place: Place, device: LorawanDevice, numbers: readonly number[]): Promise<void> {
  const { devEui } = device
  const commands = await place.fieldgate.commands(devEui)
  const received = bytesOf(device)
  const said = `${received.join(' ')}; not taken: ${device.notTaken.join(' ')}; ${JSON.stringify(commands)}`
  const commandOf = (number: number) => commands.find(({ id }) => id === idOf(devEui, number))
  const isUnconfirmed = (number: number): boolean =>
    place.way !== 'v4-grpc' && commandOf(number)?.state === 'unconfirmed'
  const isTransmitted = (number: number): boolean => {
    const command = commandOf(number)
    return command?.state === 'sent' && command.transmittedAt !== null
  }
  const sharesCounter = (number: number): boolean =>
    isTransmitted(number) && commands.filter(({ fCnt }) => fCnt === commandOf(number)?.fCnt).length > 1
  const overtaken = numbers.filter((number) => !received.includes(number) && sharesCounter(number))
  assert.ok(overtaken.length <= countOfAnswers(device) - received.length, said)
  assert.deepEqual(
    received,
    numbers.filter((number) => received.includes(number) || !(isUnconfirmed(number) || overtaken.includes(number))),
    said,
  )
  const without = numbers.filter((number) => !isTransmitted(number) && !isUnconfirmed(number))
  assert.deepEqual(without, [], said)
}

function idOf(devEui: string, number: number): string {
  return `${devEui}-${number}`
}
