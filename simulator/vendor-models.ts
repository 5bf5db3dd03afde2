/** The models whose payload has a vendor's own layout. */
import { createWalk, dailyWave, rounded } from './sensor.ts'
import type { DeviceModel } from './sensor.ts'

/** `[litres u32 LE][flow in l/h u16 LE][flags]`; flag bit 0: leak, bit 1: backflow. fPort 10. */
export const waterMeter: DeviceModel = {
  deviceProfileName: 'Water meter',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a21',
  externalPowerSource: false,
  createSensor(random) {
    const flow = createWalk(random, random.between(20, 300), 25, 0, 2500)
    let litres = random.between(1000, 900_000)
    let lastAtMs: number | undefined
    return {
      measure: (atMs) => {
        const litresPerHour = Math.round(flow())
        litres += (litresPerHour * (atMs - (lastAtMs ?? atMs))) / 3_600_000
        lastAtMs = atMs
        const leak = random.chance(0.01)
        const bytes = Buffer.alloc(7)
        bytes.writeUInt32LE(Math.floor(litres), 0)
        bytes.writeUInt16LE(litresPerHour, 4)
        bytes.writeUInt8(leak ? 1 : 0, 6)
        const object = { volumeLitres: Math.floor(litres), flowLitresPerHour: litresPerHour, leak, backflow: false }
        return { fPort: 10, bytes, object }
      },
    }
  },
}

/** `[pressure in mbar u16][temperature in 0.1 °C i16]`, big-endian. fPort 5. */
export const pressureTransmitter: DeviceModel = {
  deviceProfileName: 'Pressure transmitter',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a22',
  externalPowerSource: false,
  createSensor(random) {
    const pressure = createWalk(random, random.between(3500, 6000), 40, 500, 10_000)
    return {
      measure: (atMs) => {
        const millibar = Math.round(pressure())
        const tenths = Math.round(80 + 10 * dailyWave(atMs) + random.normal(0, 2))
        const bytes = Buffer.alloc(4)
        bytes.writeUInt16BE(millibar, 0)
        bytes.writeInt16BE(tenths, 2)
        return { fPort: 5, bytes, object: { pressureBar: millibar / 1000, temperatureCelsius: tenths / 10 } }
      },
    }
  },
}

/** `[distance to the surface in mm u16][battery in mV u16]`, big-endian. fPort 3. */
export const waterLevel: DeviceModel = {
  deviceProfileName: 'Ultrasonic level sensor',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a23',
  externalPowerSource: false,
  createSensor(random) {
    const distance = createWalk(random, random.between(800, 2500), 12, 250, 4800)
    return {
      measure: () => {
        const millimetres = Math.round(distance())
        const millivolts = Math.round(3590 + random.normal(0, 8))
        const bytes = Buffer.alloc(4)
        bytes.writeUInt16BE(millimetres, 0)
        bytes.writeUInt16BE(millivolts, 2)
        return {
          fPort: 3,
          bytes,
          object: {
            distanceMetres: millimetres / 1000,
            levelMetres: rounded(5 - millimetres / 1000, 3),
            batteryVolts: millivolts / 1000,
          },
        }
      },
    }
  },
}

/**
 * `[state][position in %][moves u16 BE]`, fPort 8. A command of one byte on any port: 0x00 shuts
 * the valve, 0x01 opens it.
 */
export const valveActuator: DeviceModel = {
  deviceProfileName: 'Valve actuator',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a24',
  externalPowerSource: false,
  createSensor(random) {
    let open = true
    let moves = random.integer(0, 400)
    return {
      command: (_fPort, bytes) => {
        const value = bytes[0]
        if (bytes.length !== 1 || (value !== 0 && value !== 1)) return
        if (open !== (value === 1)) moves = (moves + 1) % 65_536
        open = value === 1
      },
      measure: () => {
        const bytes = Buffer.alloc(4)
        bytes.writeUInt8(open ? 1 : 0, 0)
        bytes.writeUInt8(open ? 100 : 0, 1)
        bytes.writeUInt16BE(moves, 2)
        return { fPort: 8, bytes, object: { open, positionPercent: open ? 100 : 0, moves } }
      },
    }
  },
}

/**
 * `[moisture in 0.01 % u16][temperature in 0.01 °C i16][conductivity in µS/cm u16]`, big-endian.
 * fPort 2.
 */
export const soilMoisture: DeviceModel = {
  deviceProfileName: 'Soil moisture',
  deviceProfileId: '6f1d2b1e-0a51-4f0e-9c5f-2f4f5f0c7a25',
  externalPowerSource: false,
  createSensor(random) {
    const moisture = createWalk(random, random.between(15, 40), 0.3, 2, 60)
    const conductivity = createWalk(random, random.between(100, 600), 8, 0, 2000)
    return {
      measure: (atMs) => {
        const hundredths = Math.round(moisture() * 100)
        const temperature = Math.round((9 + 2 * dailyWave(atMs) + random.normal(0, 0.05)) * 100)
        const microsiemens = Math.round(conductivity())
        const bytes = Buffer.alloc(6)
        bytes.writeUInt16BE(hundredths, 0)
        bytes.writeInt16BE(temperature, 2)
        bytes.writeUInt16BE(microsiemens, 4)
        return {
          fPort: 2,
          bytes,
          object: {
            moisturePercent: hundredths / 100,
            temperatureCelsius: temperature / 100,
            conductivityMicrosiemens: microsiemens,
          },
        }
      },
    }
  },
}
