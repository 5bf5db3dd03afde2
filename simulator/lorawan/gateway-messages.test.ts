import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeDownCommand, encodeConnState, encodeStats, encodeTxAck, encodeUplinkEvent } from './gateway-messages.ts'
import { keepTime, refuseAll, sendFirst } from './transmit-policy.ts'

// Messages that a ChirpStack v4.19.0 and a v3.17 published for a gateway.
const JOIN_ACCEPT = {
  v4:
    '18d1f3d985042a390a1120f0cf59dbe623df8f00fea5a92c2251791a2408a0cff89d0310101a0c1a0a08c8d007100720012801320612040a0208' +
    '053a0476a4a9a82a390a1120f0cf59dbe623df8f00fea5a92c2251791a240888cccf9e03101d1a0c1a0a08c8d007100c20012801320612040a02' +
    '08063a0476a4a9a83a1030303131323233333434353536363737',
  v3:
    '0a1120b7ff205e591be6febe9928ecd77e7e18122e0a08001122334455667728a0cff89d03300e6001820104151f93d7420b087d10071a03342f' +
    '35200172040a02080518e98c02221063f81711154a4bfbb2636cd7f81831132a390a1120b7ff205e591be6febe9928ecd77e7e18122428a0cff8' +
    '9d03300e6001820104151f93d7420b087d10071a03342f35200172040a0208052a390a1120b7ff205e591be6febe9928ecd77e7e1812242888cc' +
    'cf9e03301b6001820104151f93d7420b087d100c1a03342f35200172040a02080632080011223344556677',
}
const AT_ONCE = {
  v4:
    '1895b9da86082a340a10a08e4af0008000000a4b20905d251df31a200888cccf9e03101d1a0c1a0a08c8d007100c2001280132020a003a0476a4' +
    'a9a93a1030303131323233333434353536363737',
  v3:
    '0a10a053f896008000000aa2a9e12880d71912280a0800112233445566772888cccf9e03301b820104151f93d8420b087d100c1a03342f352001' +
    '6a001897c5032210e2977e695643495cbcdcfa66862fea7d2a320a10a053f896008000000aa2a9e12880d719121e2888cccf9e03301b82010415' +
    '1f93d8420b087d100c1a03342f3520016a0032080011223344556677',
}
const ID_OF_V3 = Buffer.from('63f81711154a4bfbb2636cd7f8183113', 'hex')
const gatewayId = '0011223344556677'
const reception = { frequency: 868_300_000, bandwidth: 125_000, spreadingFactor: 7, channel: 0, rssi: -60, snr: 9.5 }

for (const protocol of ['v3', 'v4'] as const) {
  test(`a ${protocol} downlink in two windows is read`, () => {
    const { items } = decodeDownCommand(protocol, hex(JOIN_ACCEPT[protocol]))
    const windows = items.map(({ frequency, spreadingFactor, delayMs }) => [frequency, spreadingFactor, delayMs])
    assert.deepEqual(windows, [
      [868_100_000, 7, 5000],
      [869_525_000, 12, 6000],
    ])
    assert.equal(items[0]?.phyPayload.length, 17)
    assert.equal(items[0]?.context.toString('hex'), protocol === 'v4' ? '76a4a9a8' : '151f93d7')
  })

  test(`a ${protocol} downlink that goes out at once has no delay`, () => {
    const { items } = decodeDownCommand(protocol, hex(AT_ONCE[protocol]))
    assert.deepEqual(
      items.map(({ delayMs, phyPayload }) => [delayMs, phyPayload[0]]),
      [[undefined, 0xa0]],
    )
  })
}

test("a downlink's id comes back with the gateway's answer, as ChirpStack took it", () => {
  const v4 = decodeDownCommand('v4', hex(JOIN_ACCEPT.v4)).downlinkId
  assert.equal(v4, 1085700561)
  assert.equal(
    Buffer.from(encodeTxAck('v4', gatewayId, v4, ['OK', 'IGNORED'])).toString('hex'),
    '32103030313132323333343435353636373710d1f3d985042a0208012a00',
  )
  const v3 = decodeDownCommand('v3', hex(JOIN_ACCEPT.v3)).downlinkId
  assert.deepEqual(v3, new Uint8Array(ID_OF_V3))
  assert.equal(
    Buffer.from(encodeTxAck('v3', gatewayId, v3, ['OK', 'IGNORED'])).toString('hex'),
    '0a080011223344556677221063f81711154a4bfbb2636cd7f81831132a0208012a00',
  )
})

test('an uplink is told as ChirpStack took it', () => {
  const phyPayload = hex('408e4af00000000002ec60efe9e6')
  const heard = {
    gatewayId,
    phyPayload,
    reception,
    uplinkId: 1990502824 + 1,
    context: hex('76a4a9a9'),
    gpsTimeMs: undefined,
  }
  assert.equal(
    Buffer.from(encodeUplinkEvent('v4', heard)).toString('hex'),
    '0a0e408e4af00000000002ec60efe9e6221208e0e9849e03120a1a0808c8d007100728012a310a1030303131323233333434353536363737' +
      '10a9d392b50730c4ffffffffffffffff013d000018416a0476a4a9a9800102',
  )
  assert.equal(
    Buffer.from(encodeUplinkEvent('v3', { ...heard, uplinkId: 0x151f93d8, context: hex('151f93d8') })).toString('hex'),
    '0a0e408e4af00000000002ec60efe9e6121108e0e9849e031a09087d10071a03342f351a3a0a08001122334455667728c4ffffffffffff' +
      'ffff013100000000000023407a04151f93d8820110000000000000000000000000151f93d8880102',
  )
})

test('a connection and the signs of life name the gateway as each version does', () => {
  assert.equal(
    Buffer.from(encodeConnState('v4', gatewayId, 'ONLINE')).toString('hex'),
    '1a10303031313232333334343535363637371001',
  )
  assert.equal(Buffer.from(encodeConnState('v3', gatewayId, 'ONLINE')).toString('hex'), '0a0800112233445566771001')
  const state = { received: 3, transmitted: 1, atMs: 2000, location: undefined }
  const stats = Buffer.from(encodeStats('v3', gatewayId, state)).toString('hex')
  assert.equal(stats, '0a080011223344556677120208022803300338014001')
})

test('bytes that are no message of ChirpStack are refused', () => {
  assert.throws(() => decodeDownCommand('v4', hex('ffffff')))
})

test('a gateway sends the first item however late, keeps the time, or refuses', () => {
  const command = decodeDownCommand('v4', hex(JOIN_ACCEPT.v4))
  assert.deepEqual(sendFirst(command, [-10, 900]), ['OK', 'IGNORED'])
  assert.deepEqual(keepTime(command, [10, 1010]), ['OK', 'IGNORED'])
  assert.deepEqual(keepTime(command, [-10, 990]), ['TOO_LATE', 'OK'])
  assert.deepEqual(keepTime(command, [-1010, -10]), ['TOO_LATE', 'TOO_LATE'])
  assert.deepEqual(refuseAll('COLLISION_PACKET')(command, []), ['COLLISION_PACKET', 'COLLISION_PACKET'])
})

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
