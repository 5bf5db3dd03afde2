/**
 * A log of version 1, written byte by byte in the layout of that version, without the code that
 * writes logs now: every later version must read a log that is stored today.
 */
import { crc32 } from 'node:zlib'
import type { SimulatedDisk } from '../ports/simulated-disk.testing.ts'

/**
 * The content of the log: two partitions. The second has two messages; retention removed three
 * before them.
 */
export const VERSION_1_EXPECTED = {
  state: [
    ['gone and come', 'again'],
    ['in the snapshot', 'yes'],
    ['with the message', 'ü'],
  ],
  offsets: [3, 4],
  lost: 3,
  messages: [
    {
      topicName: 'application/1/device/0102030405060708/event/up',
      payload: '{"fCnt":1}',
      qos: 1,
      retain: false,
      properties: undefined,
      publisherKey: 'org user client',
      expiresAtMs: Infinity,
      ownedAtMs: 1_750_000_000_123,
    },
    {
      topicName: 'ä',
      payload: '',
      qos: 2,
      retain: true,
      properties: { contentType: 'x', userProperties: [['a', 'b']] },
      publisherKey: '',
      expiresAtMs: 1_760_000_000_000,
      ownedAtMs: 1_750_000_000_456,
    },
  ],
} as const

/** Writes the log durably; options put other version numbers into it. */
export function writeVersion1(
  disk: SimulatedDisk,
  directory: string,
  { headVersion = 1, recordVersion = 1 }: { readonly headVersion?: number; readonly recordVersion?: number } = {},
): void {
  const beginning = Buffer.concat([Buffer.from('FGATELOG'), uint16(headVersion), uint16(2)])
  // From version 2 on, the checksum covers the beginning, too.
  const checksum = crc32(headFields(), headVersion === 1 ? 0 : crc32(beginning))
  const head = Buffer.concat([beginning, uint32(checksum), headFields()])
  const first = Buffer.concat([
    Buffer.from([1 | 32]),
    uint16(1),
    double(3),
    double(1_750_000_000_123),
    uint16(46),
    uint32(15),
    Buffer.from('application/1/device/0102030405060708/event/up'),
    Buffer.from('org user client'),
    sized(change('with the message', 'ü')),
    Buffer.from('{"fCnt":1}'),
  ])
  const second = Buffer.concat([
    Buffer.from([2 | 4 | 8 | 16]),
    uint16(1),
    double(4),
    double(1_750_000_000_456),
    uint16(2),
    uint32(0),
    Buffer.from('ä'),
    double(1_760_000_000_000),
    sized(Buffer.from('0b030001782600016100 0162'.replaceAll(' ', ''), 'hex')),
  ])
  const changes = Buffer.concat([change('gone and come', undefined), change('gone and come', 'again')])
  const segment = Buffer.concat([
    head,
    record(recordVersion, 1, first),
    record(recordVersion, 1, second),
    record(recordVersion, 2, changes),
  ])
  const snapshot = Buffer.concat([
    record(1, 2, Buffer.concat([change('in the snapshot', 'yes'), change('gone and come', 'before')])),
    record(1, 3, double(2)),
  ])
  disk.replace(`${directory}/format`, Buffer.from('fieldgate-log 1 partitions 2\n'))
  disk.replace(`${directory}/log/00000000000000000007.log`, segment)
  disk.replace(`${directory}/state/00000000000000000007-000000000088.snapshot`, snapshot)
}

function headFields(): Buffer {
  const fields = [7, 1_750_000_000_000, 0, 6, 4_096, 1_740_000_000_000, 1_740_000_000_001, 0, 3]
  return Buffer.concat(fields.map((field) => double(field)))
}

function record(version: number, kind: number, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from([version, kind]), content])
  return Buffer.concat([uint32(body.length), uint32(crc32(body)), body])
}

function change(key: string, value: string | undefined): Buffer {
  const name = Buffer.from(key)
  const head = [Buffer.from([value === undefined ? 0 : 1]), uint32(name.length), name]
  return Buffer.concat(value === undefined ? head : [...head, sized(Buffer.from(value))])
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}
