/**
 * Commands of one device reach it in the order of sending, each once, and each has its own fate.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Way } from './place.ts'
import type { Places } from './places.ts'
import { bytesOf, pumpUntil } from './radio-pump.ts'

const COMMANDS = 20
const IN_TIME_MS = 60_000

export function testOrder(places: () => Places, way: Way): void {
  it(`${way}: ${COMMANDS} commands, sent to each of two devices at once, come in their order, each once`, async () => {
    const place = places().of(way)
    const devices = [await place.joinedDevice(), await place.joinedDevice()]
    const numbers = Array.from({ length: COMMANDS }, (_each, number) => number)
    await Promise.all(
      devices.flatMap(({ devEui }) =>
        numbers.map((number) =>
          place.integrator.command(devEui, {
            id: `${devEui}-${number}`,
            data: Buffer.from([number]).toString('base64'),
          }),
        ),
      ),
    )
    await pumpUntil(devices, (device) => device.received.length >= COMMANDS, IN_TIME_MS)
    // A doubled command would come behind them.
    await pumpUntil(devices, () => false, 1_000)
    for (const device of devices) {
      const said = `${bytesOf(device).join(' ')}; not taken: ${device.notTaken.join(' ')}`
      assert.deepEqual(bytesOf(device), numbers, said)
    }
    for (const { devEui } of devices) {
      const told = place.integrator.eventsOf(devEui, 'txack').map(({ body }) => body.commandId)
      assert.deepEqual(
        told,
        numbers.map((number) => `${devEui}-${number}`),
      )
      const commands = await place.fieldgate.commands(devEui)
      const silent = commands.filter(({ transmittedAt }) => transmittedAt === null)
      assert.deepEqual(silent, [])
    }
  })
  it(`${way}: commands of one id for two devices are two commands`, async () => {
    const place = places().of(way)
    const devices = [await place.joinedDevice(), await place.joinedDevice()]
    for (const { devEui } of devices) await place.integrator.command(devEui, { id: 'valve-7', data: 'AQID' })
    await pumpUntil(devices, (device) => device.received.length > 0, 10_000)
    for (const device of devices) assert.deepEqual(bytesOf(device), [1])
  })
}
