import assert from 'node:assert/strict'
import { test } from 'node:test'
import { region } from '../region.ts'
import { answerMacCommands, initialMacSettings, parseMacCommands } from './mac-commands.ts'
import type { MacSettings } from './mac-commands.ts'

const EU868_RATES = [0, 1, 2, 3, 4, 5]

test('DevStatusReq is answered with battery and margin, the margin as six bits with a sign', () => {
  assert.equal(answer('06', { ...settings(), battery: 254, margin: 10 }), '06fe0a')
  assert.equal(answer('06', { ...settings(), battery: 0, margin: -1 }), '06003f')
})

test('LinkADRReq is obeyed as a whole', () => {
  const mac = settings()
  assert.equal(answer('0352070001', mac), '0307')
  assert.equal(mac.dataRate, 5)
  assert.equal(mac.txPower, 2)
  assert.equal(mac.transmissions, 1)
})

test('LinkADRReq with a data rate that the region lacks changes nothing and says which part was wrong', () => {
  const mac = settings()
  assert.equal(answer('03e2070002', mac), '0305')
  assert.equal(mac.dataRate, 0)
  assert.equal(mac.txPower, 0)
  assert.equal(mac.transmissions, 1)
})

test('LinkADRReq without any channel is refused', () => {
  assert.equal(answer('0352000001', settings()), '0306')
})

test('LinkADRReq that says "keep" keeps data rate and power', () => {
  const mac = { ...settings(), dataRate: 3, txPower: 4 }
  assert.equal(answer('03ff070003', mac), '0307')
  assert.deepEqual([mac.dataRate, mac.txPower, mac.transmissions], [3, 4, 3])
})

test('each of several LinkADRReq gets an answer', () => {
  assert.equal(answer('03520700010351070001', settings()), '03070307')
})

test('NewChannelReq adds a channel and removes it, but not one of the region', () => {
  const mac = settings()
  assert.equal(answer('0703184f8450', mac), '0703')
  assert.deepEqual([...mac.channels], [[3, 867_100_000]])
  assert.equal(answer('070300000050', mac), '0703')
  assert.equal(mac.channels.size, 0)
  assert.equal(answer('0702184f8450', mac), '0700')
})

test('RXParamSetupReq, RXTimingSetupReq and DlChannelReq are answered until a downlink comes', () => {
  const mac = settings()
  const answers = answerMacCommands(parseMacCommands(hex('0513d2ad84', '0805', '0a00184f84', '0403')), mac, EU868_RATES)
  assert.deepEqual(
    answers.map(({ bytes, isRepeated }) => [bytes.toString('hex'), isRepeated]),
    [
      ['0507', true],
      ['08', true],
      ['0a03', true],
      ['04', false],
    ],
  )
  assert.deepEqual(
    [mac.rx1DataRateOffset, mac.rx2DataRate, mac.rx2Frequency, mac.rxDelaySeconds, mac.maximumDutyCycle],
    [1, 3, 869_525_000, 5, 3],
  )
})

test('a delay of 0 means one second', () => {
  const mac = settings()
  answer('0800', mac)
  assert.equal(mac.rxDelaySeconds, 1)
})

test('a command that needs no answer gets none', () => {
  assert.equal(answer('020a010d0102030405', settings()), '')
})

test('an unknown command ends the list, and so does one that is cut off', () => {
  assert.deepEqual(
    parseMacCommands(hex('06', '80', '06')).map(({ name }) => name),
    ['DevStatusReq'],
  )
  assert.deepEqual(
    parseMacCommands(hex('06', '0352')).map(({ name }) => name),
    ['DevStatusReq'],
  )
})

function answer(commands: string, mac: MacSettings): string {
  const answers = answerMacCommands(parseMacCommands(hex(commands)), mac, EU868_RATES)
  return Buffer.concat(answers.map(({ bytes }) => bytes)).toString('hex')
}

function settings(): MacSettings {
  return { ...initialMacSettings(region('EU868')), dataRate: 0 }
}

function hex(...parts: readonly string[]): Buffer {
  return Buffer.from(parts.join(''), 'hex')
}
