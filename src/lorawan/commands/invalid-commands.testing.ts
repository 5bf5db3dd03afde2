/**
 * Every invalid command with its answer. The parser, MQTT 3.1.1, MQTT 5 and HTTP must all give this
 * answer.
 */
import { MAXIMUM_COMMAND_BYTES } from './command.ts'
import type { CommandFaultCode } from './command.ts'

/** A valid command. */
export const VALID = { confirmed: false, fPort: 10, data: 'AQID' }

/** A payload, the member at fault, the code and the whole message or a part of it. */
export type InvalidRow = readonly [
  title: string,
  payload: string | Buffer | object,
  member: string | undefined,
  code: CommandFaultCode,
  message: string,
]

/** Payloads that are wrong as a whole. */
export const WRONG_PAYLOADS: readonly InvalidRow[] = [
  ['nothing', '', undefined, 'invalid_json', 'the payload is not JSON'],
  ['a space', ' ', undefined, 'invalid_json', 'not JSON'],
  ['text', 'hello', undefined, 'invalid_json', 'not JSON'],
  ['half an object', '{"confirmed": true', undefined, 'invalid_json', 'not JSON at position 18'],
  ['a trailing comma', '{"confirmed": true,}', undefined, 'invalid_json', 'not JSON'],
  ['single quotes', "{'confirmed': true}", undefined, 'invalid_json', 'not JSON'],
  ['two objects', '{}{}', undefined, 'invalid_json', 'not JSON'],
  ['a comment', '{} // on', undefined, 'invalid_json', 'not JSON'],
  ['NaN', '{"fPort": NaN}', undefined, 'invalid_json', 'not JSON'],
  ['a number with a leading zero', '{"fPort": 010}', undefined, 'invalid_json', 'not JSON'],
  ['a byte order mark', '\uFEFF{"confirmed":true,"fPort":1,"data":""}', undefined, 'invalid_json', 'not JSON'],
  ['a NUL at the end', '{"confirmed":true,"fPort":1,"data":""}\0', undefined, 'invalid_json', 'not JSON'],
  ['deep nesting', '['.repeat(MAXIMUM_COMMAND_BYTES), undefined, 'invalid_json', 'not JSON'],
  ['a lone continuation byte', Buffer.from([0x7b, 0x80, 0x7d]), undefined, 'invalid_utf8', 'is not UTF-8'],
  ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), undefined, 'invalid_utf8', 'is not UTF-8'],
  ['a surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), undefined, 'invalid_utf8', 'is not UTF-8'],
  ['bytes of another format', Buffer.from([0x0a, 0xff, 0x01]), undefined, 'invalid_utf8', 'is not UTF-8'],
  ['too many bytes', ' '.repeat(MAXIMUM_COMMAND_BYTES + 1), undefined, 'payload_too_large', 'has 65537 bytes'],
  ['null', 'null', undefined, 'not_an_object', 'the payload is null, not a JSON object'],
  ['an array', '[]', undefined, 'not_an_object', 'an array'],
  ['an array of a command', JSON.stringify([VALID]), undefined, 'not_an_object', 'an array'],
  ['a string', '"AQID"', undefined, 'not_an_object', 'a string'],
  ['a number', '1', undefined, 'not_an_object', 'a number'],
  ['a boolean', 'true', undefined, 'not_an_object', 'a boolean'],
]

const WRONG_MEMBERS: readonly InvalidRow[] = [
  ['an empty object', {}, 'confirmed', 'member_missing', 'confirmed: is missing'],
  ['confirmed missing', { fPort: 1, data: '' }, 'confirmed', 'member_missing', 'confirmed: is missing'],
  ['confirmed as text', { ...VALID, confirmed: 'true' }, 'confirmed', 'wrong_type', 'must be a boolean, not a string'],
  ['confirmed as 1', { ...VALID, confirmed: 1 }, 'confirmed', 'wrong_type', 'must be a boolean, not a number'],
  ['confirmed null', { ...VALID, confirmed: null }, 'confirmed', 'wrong_type', 'must be a boolean, not null'],
  ['confirmed in another case', { Confirmed: true, fPort: 1, data: '' }, 'confirmed', 'member_missing', 'is missing'],
  ['fPort missing', { confirmed: true, data: '' }, 'fPort', 'member_missing', 'fPort: is missing'],
  ['fPort in another case', { confirmed: true, fport: 1, data: '' }, 'fPort', 'member_missing', 'fPort: is missing'],
  ['fPort 0', { ...VALID, fPort: 0 }, 'fPort', 'out_of_range', 'fPort: 0 is below 1'],
  ['fPort -1', { ...VALID, fPort: -1 }, 'fPort', 'out_of_range', 'fPort: -1 is below 1'],
  ['fPort 256', { ...VALID, fPort: 256 }, 'fPort', 'out_of_range', 'fPort: 256 is above 255'],
  ['fPort 300', { ...VALID, fPort: 300 }, 'fPort', 'out_of_range', 'fPort: 300 is above 255'],
  ['fPort 2³²+1', { ...VALID, fPort: 2 ** 32 + 1 }, 'fPort', 'out_of_range', 'is above 255'],
  ['fPort 1.5', { ...VALID, fPort: 1.5 }, 'fPort', 'not_an_integer', 'fPort: 1.5 is not an integer'],
  ['fPort 1e999', '{"confirmed":true,"fPort":1e999,"data":""}', 'fPort', 'out_of_range', 'is above 255'],
  ['fPort as text', { ...VALID, fPort: '10' }, 'fPort', 'wrong_type', 'fPort: must be a number, not a string'],
  ['fPort true', { ...VALID, fPort: true }, 'fPort', 'wrong_type', 'must be a number, not a boolean'],
  ['fPort null', { ...VALID, fPort: null }, 'fPort', 'wrong_type', 'must be a number, not null'],
  ['fPort in an array', { ...VALID, fPort: [10] }, 'fPort', 'wrong_type', 'must be a number, not an array'],
  ['the last of two fPorts', '{"confirmed":true,"fPort":1,"fPort":0,"data":""}', 'fPort', 'out_of_range', 'below 1'],
  [
    'members from a prototype',
    '{"__proto__":{"confirmed":true,"fPort":1,"data":""}}',
    'confirmed',
    'member_missing',
    '',
  ],
  [
    'neither data nor object',
    { confirmed: true, fPort: 1 },
    'data',
    'member_missing',
    'is missing, and object as well',
  ],
  ['data null', { ...VALID, data: null }, 'data', 'wrong_type', 'data: must be a string, not null'],
  ['data null beside an object', { ...VALID, data: null, object: {} }, 'data', 'wrong_type', 'not null'],
  ['data as numbers', { ...VALID, data: [1, 2] }, 'data', 'wrong_type', 'data: must be a string, not an array'],
  ['data as a number', { ...VALID, data: 1 }, 'data', 'wrong_type', 'data: must be a string, not a number'],
  ['data in hexadecimal with a colon', { ...VALID, data: '01:02' }, 'data', 'invalid_base64', 'data: is not base64'],
  ['data with a space', { ...VALID, data: 'AQ ID' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with a line feed', { ...VALID, data: 'AQID\n' }, 'data', 'invalid_base64', 'is not base64'],
  ['data in the URL alphabet', { ...VALID, data: '-_-_' }, 'data', 'invalid_base64', 'is not base64'],
  ['data of one character', { ...VALID, data: 'A' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with half of its padding', { ...VALID, data: 'AQ=' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with too much padding', { ...VALID, data: 'AQID=' }, 'data', 'invalid_base64', 'is not base64'],
  ['data of padding alone', { ...VALID, data: '==' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with padding inside', { ...VALID, data: 'AQ==AQ==' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with stray bits', { ...VALID, data: 'AR==' }, 'data', 'invalid_base64', 'is not base64'],
  ['data with umlauts', { ...VALID, data: 'ÄÖÜß' }, 'data', 'invalid_base64', 'is not base64'],
  ['data of 243 bytes', { ...VALID, data: bytes(243) }, 'data', 'data_too_long', 'data: 243 bytes are more than 242'],
  ['data of 40 kB', { ...VALID, data: bytes(40_000) }, 'data', 'data_too_long', 'more than 242'],
]

const WRONG_OBJECTS: readonly InvalidRow[] = [
  ['object null', withObject(null), 'object', 'wrong_type', 'object: must be an object, not null'],
  ['object as an array', withObject([]), 'object', 'wrong_type', 'must be an object, not an array'],
  ['object as text', withObject('{}'), 'object', 'wrong_type', 'must be an object, not a string'],
  ['a wrong object beside data', { ...VALID, object: 1 }, 'object', 'wrong_type', 'must be an object, not a number'],
  ['a sensor as a number', withObject({ led: 1 }), 'object.led', 'wrong_type', 'must be a map of channel indexes'],
  ['a sensor as an array', withObject({ led: [1] }), 'object.led', 'wrong_type', 'not an array'],
  ['a sensor null', withObject({ led: null }), 'object.led', 'wrong_type', 'not null'],
  ['a channel that is a name', withObject({ led: { red: 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['an empty channel', withObject({ led: { '': 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['channel 256', withObject({ led: { 256: 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['channel -1', withObject({ led: { '-1': 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['channel 01', withObject({ led: { '01': 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['channel 1.0', withObject({ led: { '1.0': 1 } }), 'object.led', 'invalid_channel', 'from 0 to 255'],
  ['a value as text', withObject({ led: { 1: '1' } }), 'object.led.1', 'wrong_type', 'must be a number, not a string'],
  ['a value true', withObject({ led: { 1: true } }), 'object.led.1', 'wrong_type', 'must be a number, not a boolean'],
  ['a value null', withObject({ led: { 1: null } }), 'object.led.1', 'wrong_type', 'must be a number, not null'],
  ['a value of axes', withObject({ led: { 1: { x: 1 } } }), 'object.led.1', 'wrong_type', 'not an object'],
  [
    'a value of 1e999',
    '{"confirmed":true,"fPort":1,"object":{"led":{"1":1e999}}}',
    'object.led.1',
    'out_of_range',
    'is too large a number',
  ],
  ['a name with a line feed', withObject({ 'a\nb': 1 }), 'object', 'wrong_type', 'object: must be a map'],
  ['a long name', withObject({ ['n'.repeat(41)]: 1 }), 'object', 'wrong_type', 'object: must be a map'],
]

const WRONG_OPTIONS: readonly InvalidRow[] = [
  ['id as a number', { ...VALID, id: 5 }, 'id', 'wrong_type', 'id: must be a string, not a number'],
  ['id null', { ...VALID, id: null }, 'id', 'wrong_type', 'id: must be a string, not null'],
  ['an empty id', { ...VALID, id: '' }, 'id', 'invalid_id', 'id: is not 1 to 64 visible ASCII characters'],
  ['id of 65 characters', { ...VALID, id: 'i'.repeat(65) }, 'id', 'invalid_id', 'id: is not 1 to 64'],
  ['id with a space', { ...VALID, id: 'a b' }, 'id', 'invalid_id', 'id: is not 1 to 64'],
  ['id with a NUL', { ...VALID, id: 'a\0' }, 'id', 'invalid_id', 'id: is not 1 to 64'],
  ['id with an umlaut', { ...VALID, id: 'ä' }, 'id', 'invalid_id', 'id: is not 1 to 64'],
  [
    'priority as text',
    { ...VALID, priority: '1' },
    'priority',
    'wrong_type',
    'priority: must be a number, not a string',
  ],
  ['priority null', { ...VALID, priority: null }, 'priority', 'wrong_type', 'priority: must be a number, not null'],
  ['priority 0.5', { ...VALID, priority: 0.5 }, 'priority', 'not_an_integer', 'priority: 0.5 is not an integer'],
  ['priority 1001', { ...VALID, priority: 1001 }, 'priority', 'out_of_range', 'priority: 1001 is above 1000'],
  ['priority -1001', { ...VALID, priority: -1001 }, 'priority', 'out_of_range', 'priority: -1001 is below -1000'],
  [
    'replace as text',
    { ...VALID, replace: 'true' },
    'replace',
    'wrong_type',
    'replace: must be a boolean, not a string',
  ],
  ['replace as 1', { ...VALID, replace: 1 }, 'replace', 'wrong_type', 'replace: must be a boolean, not a number'],
  ['expiresAt as a number', { ...VALID, expiresAt: 1_700_000_000 }, 'expiresAt', 'wrong_type', 'must be a string'],
  ['expiresAt as a date', { ...VALID, expiresAt: '2026-01-01' }, 'expiresAt', 'invalid_time', 'RFC 3339'],
  ['expiresAt without an offset', { ...VALID, expiresAt: '2026-01-01T00:00:00' }, 'expiresAt', 'invalid_time', ''],
  ['expiresAt in month 13', { ...VALID, expiresAt: '2026-13-01T00:00:00Z' }, 'expiresAt', 'invalid_time', ''],
  ['expiresAt on February 30', { ...VALID, expiresAt: '2026-02-30T00:00:00Z' }, 'expiresAt', 'invalid_time', ''],
  ['expiresAt at hour 24', { ...VALID, expiresAt: '2026-01-01T24:00:00Z' }, 'expiresAt', 'invalid_time', ''],
  ['expiresAt in words', { ...VALID, expiresAt: 'tomorrow' }, 'expiresAt', 'invalid_time', 'RFC 3339'],
  ['devEui as a number', { ...VALID, devEui: 1 }, 'devEui', 'wrong_type', 'devEui: must be a string'],
  ['devEui too short', { ...VALID, devEui: '0102' }, 'devEui', 'invalid_dev_eui', 'is not 16 hexadecimal digits'],
]

/** Commands with a wrong member. */
export const WRONG_COMMANDS: readonly InvalidRow[] = [...WRONG_MEMBERS, ...WRONG_OBJECTS, ...WRONG_OPTIONS]

function withObject(object: unknown): object {
  return { confirmed: true, fPort: 1, object }
}

function bytes(count: number): string {
  return Buffer.alloc(count, 7).toString('base64')
}
