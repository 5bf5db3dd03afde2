import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { demonstrationDeployment, deviceRecords } from './demonstration-deployment.ts'
import { parseDeviceFile } from './device-file.ts'

describe('the demonstration deployment', () => {
  const deployment = demonstrationDeployment(1)
  const applications = deployment.organizations.flatMap((organization) => organization.applications)
  const devices = applications.flatMap((application) => application.devices)

  it('has two organizations with two applications and one', () => {
    assert.deepEqual(
      deployment.organizations.map((organization) => organization.applications.length),
      [2, 1],
    )
  })

  it('has a few dozen devices of at least a dozen models', () => {
    assert.ok(devices.length >= 36, `${devices.length} devices`)
    assert.ok(new Set(devices.map((device) => device.model)).size >= 12)
  })

  it('gives each device a DevEUI and a name of its own, in the block for documentation (RFC 9542)', () => {
    assert.equal(new Set(devices.map((device) => device.devEui)).size, devices.length)
    assert.equal(new Set(devices.map((device) => device.name)).size, devices.length)
    for (const device of devices) assert.match(device.devEui, /^00005eef100000[0-9a-f]{2}$/)
  })

  it('repeats from its seed, and keeps names and DevEUIs whatever the seed', () => {
    assert.deepEqual(demonstrationDeployment(1), deployment)
    const other = demonstrationDeployment(2)
    assert.notDeepEqual(other, deployment)
    const identities = (all: typeof deployment): string[] =>
      all.organizations.flatMap(({ applications: own }) =>
        own.flatMap((application) => application.devices.map((device) => `${device.devEui} ${device.name}`)),
      )
    assert.deepEqual(identities(other), identities(deployment))
  })

  it('becomes a device file that the simulator reads', () => {
    const records = deviceRecords(deployment, (name) =>
      String(applications.findIndex((each) => each.name === name) + 1),
    )
    const read = parseDeviceFile(JSON.stringify(records))
    assert.ok(read.ok)
    assert.deepEqual(read.devices, records)
    assert.deepEqual([...new Set(records.map((record) => record.applicationID))], ['1', '2', '3'])
  })
})
