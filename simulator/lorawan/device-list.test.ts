import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { generatedLorawanDevices, lorawanDeviceRows, parseLorawanDevices } from './device-list.ts'

const SETTINGS = { count: 20, firstDevEui: '02000000000000ff', joinEui: '0101010101010101', classCShare: 0.25, seed: 1 }
const KEY = '00112233445566778899aabbccddeeff'

describe('the list of LoRaWAN devices', () => {
  it('is made up in any number, of all models and both classes', () => {
    const devices = generatedLorawanDevices(SETTINGS)
    assert.equal(new Set(devices.map(({ devEui }) => devEui)).size, 20)
    assert.equal(new Set(devices.map(({ appKey }) => appKey)).size, 20)
    assert.equal(new Set(devices.map(({ model }) => model)).size, 15)
    assert.equal(devices.filter(({ deviceClass }) => deviceClass === 'C').length, 5)
    assert.deepEqual(generatedLorawanDevices(SETTINGS), devices)
    assert.notEqual(generatedLorawanDevices({ ...SETTINGS, seed: 2 })[0]?.appKey, devices[0]?.appKey)
  })

  it('is printed as a file that can be read', () => {
    const devices = generatedLorawanDevices(SETTINGS)
    assert.deepEqual(parseLorawanDevices(lorawanDeviceRows(devices).join('\n')), { ok: true, devices })
  })

  it('needs no more than a DevEUI and a key, as CSV or JSON', () => {
    const device = {
      devEui: '00aa00bb00cc00dd',
      joinEui: '0000000000000000',
      appKey: KEY,
      name: '00aa00bb00cc00dd',
      model: 'air-quality',
      deviceClass: 'A',
    }
    const text = `\uFEFFdevEUI,appKey\n00AA00BB00CC00DD,${KEY.toUpperCase()}\n`
    assert.deepEqual(parseLorawanDevices(text), { ok: true, devices: [device] })
    const json = JSON.stringify([{ devEUI: '00AA00BB00CC00DD', appKey: KEY }])
    assert.deepEqual(parseLorawanDevices(json), { ok: true, devices: [device] })
  })

  it('names each fault with the device that it is in', () => {
    const rows = [
      { devEUI: '1', appKey: KEY },
      { devEUI: '0000000000000001', appKey: '00' },
      { devEUI: '0000000000000002', appKey: KEY, joinEUI: 'x' },
      { devEUI: '0000000000000003', appKey: KEY, model: 'toaster' },
      { devEUI: '0000000000000004', appKey: KEY, deviceClass: 'B' },
      { devEUI: '0000000000000005', appKey: KEY },
      { devEUI: '0000000000000005', appKey: KEY },
      'x',
    ]
    const read = parseLorawanDevices(JSON.stringify(rows))
    assert.ok(!read.ok)
    const patterns = [
      /^device 1: devEUI is not/,
      /^device 2: appKey is not/,
      /^device 3: joinEUI is not/,
      /^device 4: model is not one of/,
      /^device 5: deviceClass is not/,
      /^device 7: devEUI 0000000000000005 is there twice/,
      /^device 8: not an object/,
    ]
    assert.equal(read.faults.length, patterns.length)
    for (const [place, pattern] of patterns.entries()) assert.match(read.faults[place] ?? '', pattern)
  })

  it('says what is wrong with a file that is no list', () => {
    assert.equal(faultOf('[\n{,'), 'not JSON at line 2, column 2')
    assert.match(faultOf('[]'), /^no device in it/)
    assert.match(faultOf(''), /^no device in it/)
    assert.match(faultOf('a,b\n1,2\n'), /^neither a JSON array nor CSV/)
    assert.match(faultOf('devEUI,appKey\n"1,2\n'), /^the CSV can't be read/)
  })
})

function faultOf(text: string): string {
  const read = parseLorawanDevices(text)
  assert.ok(!read.ok)
  return read.faults.join('\n')
}
