import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { FieldgateError } from '../../sdk/typescript/src/index.ts'
import type { Fieldgate, SentCommand } from '../../sdk/typescript/src/index.ts'
import { CutProxy } from '../network-servers/cut-proxy.ts'
import { within } from '../support/bounded-wait.ts'
import { received } from '../support/live-connections.ts'
import { startSdkWorld } from './sdk-world.ts'
import type { Place, SdkWorld } from './sdk-world.ts'

let world: SdkWorld
let fieldgate: Fieldgate
let way: CutProxy

before(async () => {
  world = await startSdkWorld()
  way = await CutProxy.open(world.service.mqttsPort)
  fieldgate = await world.connect({ broker: `mqtts://localhost:${way.port}` })
})

after(async () => {
  await fieldgate.close()
  await way.close()
  await world[Symbol.asyncDispose]()
})

/** The code of the error by which a step ends. */
async function codeOf(step: Promise<unknown>): Promise<string> {
  const error = await within(
    step.then(
      () => undefined,
      (reason: unknown) => reason,
    ),
    'the end of the step',
  )
  assert.ok(error instanceof FieldgateError, String(error))
  return error.code
}

/** Resets the connections to the broker. */
function cut(): void {
  way.cut()
  way.mend()
}

/** Lets the network server read the commands of the place's application. */
async function listen({ application }: Place): Promise<void> {
  assert.equal(await world.networkServer.subscribe(`application/${application}/device/+/command/down`), 1)
}

/** The id that the network server knows the next command by. */
async function nextQueueItem(): Promise<string> {
  const { payload } = await received(world.networkServer)
  return (JSON.parse(payload) as { readonly id: string }).id
}

describe('a command', () => {
  it('is accepted, sent and acknowledged, step by step', async () => {
    const place = await world.place()
    await listen(place)
    const command = fieldgate.device(place.device).send({ fPort: 10, data: Uint8Array.of(1, 2), confirmed: true })
    const accepted = await within(command.accepted, 'accepted')
    assert.deepEqual(accepted, { id: command.id, repeated: false })
    const queueItemId = await nextQueueItem()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId, fCntDown: 3 })
    await within(command.sent, 'sent')
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: true })
    await within(command.acknowledged, 'acknowledged')
  })

  it('that asks for no acknowledgement ends when it is sent', async () => {
    const place = await world.place()
    await listen(place)
    const command = fieldgate.device(place.device, place).send({ fPort: 10, data: 'AQI=' })
    const queueItemId = await nextQueueItem()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await within(command.sent, 'sent')
    assert.equal(await codeOf(command.acknowledged), 'command_not_confirmed')
  })

  it('that is wrong is refused with the code and the sentence of the service', async () => {
    const { device } = await world.place()
    const command = fieldgate.device(device).send({ fPort: 300, data: 'AQI=' })
    assert.equal(await codeOf(command.accepted), 'command_out_of_range')
    await assert.rejects(command.sent, /fPort: 300 is above 255/)
    await assert.rejects(command.acknowledged, /fPort: 300 is above 255/)
  })

  it('that the device does not acknowledge, or that somebody cancels, tells so', async () => {
    const place = await world.place()
    const cancelled = fieldgate.device(place.device).send({ fPort: 10, data: 'AQI=' })
    await within(cancelled.accepted, 'accepted')
    await world.administration.must('DELETE', `/api/devices/${place.device}/queue/${cancelled.id}`)
    assert.equal(await codeOf(cancelled.sent), 'command_cancelled')
    await listen(place)
    const unheard = fieldgate.device(place.device).send({ fPort: 10, data: 'AQI=', confirmed: true })
    const queueItemId = await nextQueueItem()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: false })
    await within(unheard.sent, 'sent')
    assert.equal(await codeOf(unheard.acknowledged), 'command_not_acknowledged')
  })

  it('that a program sends again after a restart tells the fate that it has already', async () => {
    const place = await world.place()
    await listen(place)
    const input = { id: 'close-61-0', fPort: 10, data: 'AQI=', confirmed: true }
    const first = fieldgate.device(place.device, place).send(input)
    const queueItemId = await nextQueueItem()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: true })
    await within(first.acknowledged, 'acknowledged')
    const again = fieldgate.device(place.device, place).send(input)
    await within(again.accepted, 'accepted')
    await within(again.acknowledged, 'acknowledged')
  })

  it('to a device of another organization is refused like one to an unknown device', async () => {
    const elsewhere = await world.administration.organization()
    const foreign = await world.administration.device(await world.administration.application(elsewhere))
    const ends = ['0011223344556677', foreign].map(async (devEui) => {
      const { accepted } = fieldgate.device(devEui).send({ fPort: 1, data: '' })
      return codeOf(accepted)
    })
    assert.deepEqual(await Promise.all(ends), ['object_not_found', 'object_not_found'])
  })

  it('goes out once, and its fate is told, where the network is cut at each step', async () => {
    const place = await world.place()
    const id = 'valve-7'
    const send = (): SentCommand =>
      fieldgate.device(place.device, place).send({ id, fPort: 10, data: 'AQI=', confirmed: true })
    const command = send()
    cut()
    await within(command.accepted, 'accepted')
    cut()
    await listen(place)
    const queueItemId = await nextQueueItem()
    cut()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    await place.publish('ack', { deviceInfo, queueItemId, acknowledged: true })
    await within(command.acknowledged, 'acknowledged')
    const { totalCount } = await world.administration.must('GET', `/api/devices/${place.device}/queue`)
    assert.equal(totalCount, '1')
  })

  it('may be awaited in the loop over events', async () => {
    const place = await world.place()
    await listen(place)
    const stream = fieldgate.events({ application: place.application, kinds: ['up'], prefetch: 1 })
    const loop = (async (): Promise<string> => {
      for await (const event of stream) {
        const command = fieldgate.device(event.devEui, place).send({ fPort: 10, data: 'AQ==' })
        await command.sent
        return command.id
      }
      return ''
    })()
    for (const fCnt of [1, 2, 3]) await place.uplink(fCnt)
    const queueItemId = await nextQueueItem()
    const deviceInfo = { applicationId: place.application, devEui: place.device }
    await place.publish('txack', { deviceInfo, queueItemId })
    assert.notEqual(await within(loop, 'the loop'), '')
  })

  it('whose client is closed before its fate is known ends with an error', async () => {
    const place = await world.place()
    const own = await world.connect()
    const command = own.device(place.device).send({ fPort: 10, data: 'AQI=' })
    await within(command.accepted, 'accepted')
    await own.close()
    assert.equal(await codeOf(command.sent), 'closed')
  })
})
