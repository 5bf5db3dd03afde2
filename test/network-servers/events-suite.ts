/**
 * Every kind of event of a real ChirpStack, compared member by member with the post of its own HTTP
 * integration.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { join } from './place.ts'
import type { Place, Way } from './place.ts'
import type { Places } from './places.ts'
import { pumpUntil } from './radio-pump.ts'

/**
 * The kinds of event by way. A `location` comes from a service on the Internet that ChirpStack
 * asks; no test here can make one.
 */
const KINDS: Readonly<Record<Way, readonly string[]>> = {
  'v4-mqtt': ['ack', 'join', 'log', 'status', 'txack', 'up'],
  'v4-grpc': ['ack', 'join', 'log', 'status', 'txack', 'up'],
  'v4-bridge': ['ack', 'join', 'log', 'status', 'txack', 'up'],
  v3: ['ack', 'error', 'join', 'status', 'txack', 'up'],
}

const LAST_FPORT = 99

/** The life of a device with all the events that ChirpStack can send. */
async function liveOf(place: Place): Promise<string> {
  const { integrator } = place
  const device = await place.device({ statusRequestsPerDay: 1 })
  await join(device)
  const { devEui } = device
  const next = (kind: string, count: number): Promise<true> =>
    integrator.until(`${kind} number ${count}`, () => integrator.eventsOf(devEui, kind).length >= count || undefined)
  const uplinkOf = (fPort: number): Promise<unknown> =>
    integrator.find(`the uplink of fPort ${fPort}`, (event) => event.devEui === devEui && event.body.fPort === fPort)
  const request = device.nextFrame(({ macCommands }) => macCommands.some(({ name }) => name === 'DevStatusReq'))
  await device.uplink(10, Buffer.from('010203', 'hex'))
  await request
  const got = (count: number): Promise<boolean> =>
    pumpUntil([device], ({ received }) => received.length >= count, 30_000)
  // This uplink also answers that request.
  await device.uplink(223, Buffer.alloc(51, 0xff), { isConfirmed: true })
  await next('up', 2)
  await next('status', 1)
  await device.repeat()
  await next(place.way === 'v3' ? 'error' : 'log', 1)
  await integrator.command(devEui, { id: 'unconfirmed', data: 'AQID' })
  await got(1)
  await next('txack', 1)
  await integrator.command(devEui, { id: 'acknowledged', confirmed: true, fPort: 223, data: '/w==' })
  await got(2)
  await next('txack', 2)
  await device.emptyUplink()
  await next('ack', 1)
  // The frame before may still carry the next command.
  device.isAcknowledging = false
  await integrator.command(devEui, { id: 'not-acknowledged', confirmed: true, data: 'AQ==' })
  await got(3)
  await next('txack', 3)
  await device.uplink(1, Buffer.alloc(0))
  await next('ack', 2)
  // v3 publishes events concurrently: the last uplink could come before this one.
  await uplinkOf(1)
  await device.uplink(LAST_FPORT, Buffer.from([0]))
  await uplinkOf(LAST_FPORT)
  return devEui
}

/** The texts without the member that Fieldgate adds at the beginning. */
function withoutCommandId(text: string): string {
  return text.replace(/^\{"commandId":"[^"]*",/, '{')
}

export function testEvents(places: () => Places, way: Way): void {
  it(`${way}: every event comes as ChirpStack's own HTTP integration posts it, byte by byte, and all of them`, async () => {
    const place = places().of(way)
    const devEui = await liveOf(place)
    const posted = await place.posts.settled(devEui, place.integrator.eventsOf(devEui).length)
    const events = place.integrator.eventsOf(devEui)
    const received = events.map(({ kind, text }) => `${kind} ${withoutCommandId(text)}`)
    const expected = posted.map(({ kind, body }) => `${kind} ${body}`)
    assert.deepEqual(received.toSorted(), expected.toSorted())
    assert.deepEqual([...new Set(events.map(({ kind }) => kind))].toSorted(), KINDS[way])
    const { applicationId } = place
    for (const { topicName, kind } of events) {
      assert.equal(topicName, `application/${applicationId}/device/${devEui}/event/${kind}`)
    }
  })

  it(`${way}: what is told of a command has the command's id, and its fate is known`, async () => {
    const place = places().of(way)
    const devEui = await liveOf(place)
    const told = (kind: string): readonly (string | undefined)[] =>
      place.integrator.eventsOf(devEui, kind).map(({ body }) => body.commandId)
    assert.deepEqual(told('txack'), ['unconfirmed', 'acknowledged', 'not-acknowledged'])
    assert.deepEqual(told('ack'), ['acknowledged', 'not-acknowledged'])
    const commands = await place.fieldgate.commands(devEui)
    const states = new Map(commands.map(({ id, state, transmittedAt }) => [id, [state, transmittedAt !== null]]))
    assert.deepEqual(Object.fromEntries(states), {
      unconfirmed: ['sent', true],
      acknowledged: ['acknowledged', true],
      'not-acknowledged': ['not_acknowledged', true],
    })
  })
}
