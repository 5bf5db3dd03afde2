import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDeviceFile } from './device-file.ts'
import { generatedDevices, importRows, isDevEuiRange } from './generated-devices.ts'
import { createRandom } from './random.ts'

const SETTINGS = { count: 100, applicationId: '7', applicationName: 'town', firstDevEui: '02000000000000ff' }

describe('generated devices', () => {
  it('are as many as asked for, with DevEUIs that follow each other, of all models', () => {
    const devices = generatedDevices({ ...SETTINGS, random: createRandom(1) })
    assert.deepEqual(
      [devices.length, devices[0]?.devEUI, devices[1]?.devEUI],
      [100, '02000000000000ff', '0200000000000100'],
    )
    assert.equal(new Set(devices.map(({ devEUI }) => devEUI)).size, 100)
    assert.equal(new Set(devices.map(({ model }) => model)).size, 15)
    const read = parseDeviceFile(JSON.stringify(devices))
    assert.ok(read.ok)
    assert.deepEqual(read.devices, devices)
  })

  it('repeat from their seed', () => {
    assert.deepEqual(places(1), places(1))
    assert.notDeepEqual(places(1), places(2))
  })

  it('become lines of an import', () => {
    const [row] = importRows(generatedDevices({ ...SETTINGS, random: createRandom(1) }))
    assert.deepEqual(JSON.parse(row ?? ''), {
      devEUI: '02000000000000ff',
      name: 'temperature-humidity-1',
      applicationID: '7',
      deviceProfileName: 'Temperature and humidity',
    })
  })

  it('need a first DevEUI with room behind it', () => {
    assert.ok(isDevEuiRange('fffffffffffffffe', 2))
    assert.ok(!isDevEuiRange('fffffffffffffffe', 3))
    assert.ok(!isDevEuiRange('FF00000000000000', 1))
    assert.ok(!isDevEuiRange('1', 1))
  })
})

function places(seed: number): unknown {
  return generatedDevices({ ...SETTINGS, random: createRandom(seed) })
}
