import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeDownlink, decodeJoinAccept, encodeJoinRequest, encodeUplink } from './frames.ts'

// Frames between this device and a ChirpStack v4.19.0, recorded on its broker.
const appKey = hex('00112233445566778899aabbccddeeff')
const joinRequest = '00010101010101010101000000000000023412fc7043a8'
const joinAccept = '20f0cf59dbe623df8f00fea5a92c225179'
const session = {
  devAddr: hex('00f04a8e'),
  nwkSKey: hex('67365dc25b1104ca2b266291ba7b4514'),
  appSKey: hex('d3769e9d30a44879a00eefa9fbef6d47'),
}
const confirmedDownlink = 'a08e4af0008000000a4b20905d251df3'
const acknowledgement = '608e4af000a001008f8719f0'

const nothing = { payload: Buffer.alloc(0), fOpts: Buffer.alloc(0) }
const flags = { isConfirmed: false, isAdaptive: false, isAcknowledgement: false }

test('a join request is the one that ChirpStack accepted', () => {
  const request = { joinEui: hex('0101010101010101'), devEui: hex('0200000000000001'), devNonce: 0x1234, appKey }
  assert.equal(encodeJoinRequest(request).toString('hex'), joinRequest)
})

test("a join accept gives the session's keys", () => {
  const accept = decodeJoinAccept(hex(joinAccept), appKey, 0x1234)
  assert.deepEqual(accept, { session, rx1DataRateOffset: 0, rx2DataRate: 0, rxDelaySeconds: 1, channels: [] })
})

test('a join accept with a CFList names five channels more', () => {
  const accept = decodeJoinAccept(
    hex('204dd85ae608b87fc4889970b7d2042c9e72959b0057aed6094b16003df12de145'),
    hex('b6b53f4a168a7a88bdf7ea135ce9cfca'),
    0,
  )
  assert.equal(accept?.session.devAddr.toString('hex'), '26012e43')
  assert.deepEqual(accept?.channels, [867_100_000, 867_300_000, 867_500_000, 867_700_000, 867_900_000])
})

test("a join accept for another key, or another frame, isn't taken", () => {
  assert.equal(decodeJoinAccept(hex(joinAccept), hex('ff'.repeat(16)), 0x1234), undefined)
  assert.equal(decodeJoinAccept(hex(confirmedDownlink), appKey, 0x1234), undefined)
  assert.equal(decodeJoinAccept(Buffer.alloc(0), appKey, 0x1234), undefined)
})

test('uplinks with and without a payload are those that ChirpStack took', () => {
  const data = { ...nothing, ...flags }
  const first = encodeUplink(session, { ...data, fCnt: 0, fPort: 2, payload: hex('01') })
  assert.equal(first.toString('hex'), '408e4af00000000002ec60efe9e6')
  const empty = encodeUplink(session, { ...data, fCnt: 1, fPort: undefined, isAcknowledgement: true })
  assert.equal(empty.toString('hex'), '408e4af000200100b6c93168')
  const confirmed = encodeUplink(session, { ...data, fCnt: 2, fPort: 2, payload: hex('02'), isConfirmed: true })
  assert.equal(confirmed.toString('hex'), '808e4af00000020002d45037aa0f')
})

test('a frame counter above 16 bits goes into the keys of a frame, and its lower half on the air', () => {
  const low = encodeUplink(session, { ...nothing, ...flags, fCnt: 7, fPort: 2, payload: hex('0102') })
  const high = encodeUplink(session, { ...nothing, ...flags, fCnt: 65_536 + 7, fPort: 2, payload: hex('0102') })
  assert.deepEqual(high.subarray(0, 9), low.subarray(0, 9))
  assert.notDeepEqual(high.subarray(9), low.subarray(9))
})

test('MAC answers stand before the payload, in the clear', () => {
  const frame = encodeUplink(session, { ...nothing, ...flags, fCnt: 1, fPort: undefined, fOpts: hex('06c80a') })
  assert.equal(frame.subarray(5, 11).toString('hex'), '03010006c80a')
})

test('a confirmed downlink is read', () => {
  assert.deepEqual(decodeDownlink(hex(confirmedDownlink), session, -1), {
    fCnt: 0,
    fPort: 10,
    payload: hex('010203'),
    isConfirmed: true,
    isAcknowledgement: false,
    isPending: false,
    macCommands: Buffer.alloc(0),
  })
})

test('an acknowledgement without a payload is read', () => {
  const frame = decodeDownlink(hex(acknowledgement), session, 0)
  assert.ok(typeof frame !== 'string')
  assert.equal(frame.fCnt, 1)
  assert.equal(frame.fPort, undefined)
  assert.equal(frame.isAcknowledgement, true)
})

test('a frame that comes again is told from one that was tampered with', () => {
  assert.equal(decodeDownlink(hex(confirmedDownlink), session, 0), 'repeated_fcnt')
  assert.equal(decodeDownlink(hex(confirmedDownlink), session, 5), 'repeated_fcnt')
  const tampered = hex(confirmedDownlink)
  tampered.writeUInt8(tampered.readUInt8(9) ^ 1, 9)
  assert.equal(decodeDownlink(tampered, session, -1), 'wrong_mic')
})

test("another device's frames and other kinds of frames are left", () => {
  const other = { ...session, devAddr: hex('00f04a8f') }
  assert.equal(decodeDownlink(hex(confirmedDownlink), other, -1), 'other_address')
  assert.equal(decodeDownlink(hex('408e4af00000000002ec60efe9e6'), session, -1), 'not_data')
  assert.equal(decodeDownlink(hex(joinAccept), session, -1), 'not_data')
  assert.equal(decodeDownlink(Buffer.alloc(3), session, -1), 'not_data')
})

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
