import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDeviceFile } from './device-file.ts'

const DEVICE = {
  applicationID: '5',
  applicationName: 'a',
  deviceName: 'd',
  devEUI: '00005EEF10000001',
  model: 'co2-sensor',
  location: { latitude: 46.6, longitude: 7.9, altitude: 0 },
}

describe('a device file', () => {
  it('is read, with DevEUIs in lower case and members that it may leave out', () => {
    const file = parseDeviceFile(
      JSON.stringify([DEVICE, { ...DEVICE, devEUI: '00005eef10000002', tags: { a: 'b' }, deviceClass: 'C' }]),
    )
    assert.ok(file.ok)
    assert.deepEqual(file.devices, [
      { ...DEVICE, devEUI: '00005eef10000001' },
      { ...DEVICE, devEUI: '00005eef10000002', tags: { a: 'b' }, deviceClass: 'C' },
    ])
  })

  it('is refused with each fault and its place', () => {
    for (const [text, fault] of [
      ['[\n  {', /^not JSON at line 2, column 4$/],
      ['{}', /not a JSON array/],
      ['[]', /no device/],
      [JSON.stringify([DEVICE, 1]), /device 2: not an object/],
      [JSON.stringify([DEVICE, DEVICE]), /device 2: devEUI 00005eef10000001 is there twice/],
      [JSON.stringify([{ ...DEVICE, applicationID: 5 }]), /applicationID/],
      [JSON.stringify([{ ...DEVICE, applicationID: '+' }]), /applicationID/],
      [JSON.stringify([{ ...DEVICE, applicationName: null }]), /applicationName/],
      [JSON.stringify([{ ...DEVICE, deviceName: 1 }]), /deviceName/],
      [JSON.stringify([{ ...DEVICE, devEUI: '1' }]), /devEUI is not 16/],
      [JSON.stringify([{ ...DEVICE, model: 'toaster' }]), /model is not one of .*co2-sensor/],
      [JSON.stringify([{ ...DEVICE, deviceProfileName: 1 }]), /deviceProfileName/],
      [JSON.stringify([{ ...DEVICE, tags: { a: 1 } }]), /tags/],
      [JSON.stringify([{ ...DEVICE, deviceClass: 'B' }]), /deviceClass is not "A" or "C"/],
      [JSON.stringify([{ ...DEVICE, location: { latitude: 91, longitude: 0, altitude: 0 } }]), /location/],
    ] as const) {
      const file = parseDeviceFile(text)
      assert.ok(!file.ok, text)
      assert.match(file.faults.join(), fault)
    }
  })

  it('of the wrong kind is refused with ten faults, not thousands', () => {
    const file = parseDeviceFile(JSON.stringify(Array.from({ length: 1000 }, () => 0)))
    assert.ok(!file.ok && file.faults.length === 10)
  })
})
