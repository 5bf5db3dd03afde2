/** The models whose payload is Cayenne LPP. */
import assert from 'node:assert/strict'
import { encodeCayenne } from './cayenne.ts'
import type { CayenneObject } from './cayenne.ts'
import { createWalk, dailyWave } from './sensor.ts'
import type { DeviceModel, Measurement } from './sensor.ts'

/** The port on which the simulated Cayenne LPP devices send. */
const CAYENNE_FPORT = 2

export const temperatureHumidity: DeviceModel = {
  deviceProfileName: 'Temperature and humidity',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a01',
  externalPowerSource: false,
  createSensor(random) {
    const mean = random.between(9, 19)
    const humidity = createWalk(random, random.between(40, 65), 1, 20, 95)
    return {
      measure: (atMs) =>
        measured({
          temperatureSensor: { 1: mean + 3 * dailyWave(atMs) + random.normal(0, 0.2) },
          humiditySensor: { 2: humidity() },
        }),
    }
  },
}

export const doorContact: DeviceModel = {
  deviceProfileName: 'Door contact',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a02',
  externalPowerSource: false,
  createSensor(random) {
    let open = false
    return {
      measure: () => {
        // Doors are shut most of the time, and an open door is soon shut again.
        open = open ? random.chance(0.2) : random.chance(0.08)
        return measured({
          digitalInput: { 1: open ? 1 : 0 },
          analogInput: { 2: 3.6 + random.normal(0, 0.01) },
        })
      },
    }
  },
}

export const gpsTracker: DeviceModel = {
  deviceProfileName: 'GPS tracker',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a03',
  externalPowerSource: false,
  createSensor(random, home) {
    let heading = random.between(0, 2 * Math.PI)
    let { latitude, longitude } = home
    const altitude = home.altitude
    return {
      position: () => ({ latitude, longitude, altitude }),
      measure: () => {
        // The tracker moves about 100 m in each step, and back towards home when it is more than
        // some 3 km away.
        const away = Math.hypot(latitude - home.latitude, longitude - home.longitude) > 0.03
        heading = away
          ? Math.atan2(home.longitude - longitude, home.latitude - latitude)
          : heading + random.normal(0, 0.4)
        latitude += 0.001 * Math.cos(heading)
        longitude += 0.001 * Math.sin(heading)
        return measured({
          voltage: { 2: 3.9 + random.normal(0, 0.02) },
          gpsLocation: { 1: { latitude, longitude, altitude } },
        })
      },
    }
  },
}

export const co2Sensor: DeviceModel = {
  deviceProfileName: 'CO2, temperature and humidity',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a04',
  externalPowerSource: false,
  createSensor(random) {
    const concentration = createWalk(random, random.between(420, 900), 35, 400, 2400)
    const humidity = createWalk(random, random.between(35, 55), 0.8, 20, 80)
    return {
      measure: (atMs) =>
        measured({
          temperatureSensor: { 2: 21 + dailyWave(atMs) + random.normal(0, 0.1) },
          humiditySensor: { 3: humidity() },
          concentration: { 1: concentration() },
        }),
    }
  },
}

export const energyMeter: DeviceModel = {
  deviceProfileName: 'Energy meter',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a05',
  externalPowerSource: true,
  createSensor(random) {
    const power = createWalk(random, random.between(400, 2500), 150, 0, 6000)
    let energyKwh = random.between(100, 90_000)
    let lastAtMs: number | undefined
    return {
      measure: (atMs) => {
        const watts = power()
        const volts = 230 + random.normal(0, 1.5)
        energyKwh += (watts * (atMs - (lastAtMs ?? atMs))) / 3.6e9
        lastAtMs = atMs
        return measured({
          voltage: { 3: volts },
          current: { 4: watts / volts },
          power: { 2: watts },
          energy: { 1: energyKwh },
        })
      },
    }
  },
}

export const weatherStation: DeviceModel = {
  deviceProfileName: 'Weather station',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a06',
  externalPowerSource: true,
  createSensor(random, location) {
    // The pressure falls by about 1 hPa for each 8.3 m near sea level.
    const pressure = createWalk(random, 1013 - location.altitude / 8.3, 0.3, 600, 1050)
    const direction = createWalk(random, random.between(0, 359), 12, 0, 359)
    const humidity = createWalk(random, 65, 1.5, 25, 100)
    return {
      measure: (atMs) => {
        const wave = dailyWave(atMs)
        return measured({
          illuminanceSensor: { 4: Math.max(0, 60_000 * wave + random.normal(0, 500)) },
          temperatureSensor: { 1: 12 + 6 * wave - location.altitude / 160 + random.normal(0, 0.2) },
          humiditySensor: { 2: humidity() },
          barometer: { 3: pressure() },
          direction: { 5: direction() },
        })
      },
    }
  },
}

/**
 * A street light. A command on any port: the byte 0x00 switches the light off, 0x01 on, or a
 * Cayenne LPP digitalOutput or switch does the same.
 */
export const streetLight: DeviceModel = {
  deviceProfileName: 'Street light',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a07',
  externalPowerSource: true,
  createSensor(random) {
    let on = random.chance(0.5)
    return {
      command: (_fPort, bytes) => {
        const value = bytes.at(-1)
        if (value === 0 || value === 1) on = value === 1
      },
      measure: () =>
        measured({
          power: { 2: on ? 38 + random.normal(0, 0.5) : 0 },
          switch: { 1: on ? 1 : 0 },
        }),
    }
  },
}

export const parkingSensor: DeviceModel = {
  deviceProfileName: 'Parking sensor',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a08',
  externalPowerSource: false,
  createSensor(random) {
    let occupied = random.chance(0.6)
    return {
      measure: () => {
        if (random.chance(0.15)) occupied = !occupied
        return measured({
          analogInput: { 2: 3.55 + random.normal(0, 0.01) },
          presenceSensor: { 1: occupied ? 1 : 0 },
        })
      },
    }
  },
}

export const wasteBin: DeviceModel = {
  deviceProfileName: 'Waste bin fill level',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a09',
  externalPowerSource: false,
  createSensor(random) {
    let fill = random.between(0, 80)
    return {
      measure: () => {
        fill += random.between(0, 1.5)
        // The container is emptied when it is full.
        if (fill > 97) fill = 0
        return measured({
          temperatureSensor: { 2: 14 + random.normal(0, 0.5) },
          percentage: { 1: fill },
        })
      },
    }
  },
}

export const airQuality: DeviceModel = {
  deviceProfileName: 'Particulate matter',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a10',
  externalPowerSource: true,
  createSensor(random) {
    const pm10 = createWalk(random, random.between(8, 30), 1.5, 1, 200)
    return {
      measure: () => {
        const coarse = pm10()
        return measured({ concentration: { 1: coarse, 2: coarse * random.between(0.5, 0.7) } })
      },
    }
  },
}

function measured(object: CayenneObject): Measurement {
  const encoding = encodeCayenne(object)
  assert(encoding.ok, 'a simulated sensor keeps to the ranges of Cayenne LPP')
  return { fPort: CAYENNE_FPORT, bytes: encoding.bytes, object: encoding.object }
}
