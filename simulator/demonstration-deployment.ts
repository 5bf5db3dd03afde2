/**
 * The demonstration deployment as plain data: two organizations with applications and devices, and
 * the simulator's device file. Nothing here talks to the service; the caller sets the deployment up
 * over the HTTP API.
 */
import type { DeviceModelId } from './device-models.ts'
import type { DeviceRecord } from './device-file.ts'
import { deviceModel } from './device-models.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'
import type { Coordinates } from './sensor.ts'

export interface DemonstrationDeployment {
  readonly organizations: readonly DemonstrationOrganization[]
}

interface DemonstrationOrganization {
  readonly name: string
  readonly displayName: string
  /** Members without passwords; the caller makes the passwords. */
  readonly users: readonly DemonstrationUser[]
  readonly applications: readonly DemonstrationApplication[]
}

interface DemonstrationUser {
  readonly username: string
  /** True for an administrator of the organization. */
  readonly isAdmin: boolean
}

interface DemonstrationApplication {
  /** Unique in the deployment. */
  readonly name: string
  readonly description: string
  readonly payloadCodec: '' | 'CAYENNE_LPP'
  readonly devices: readonly DemonstrationDevice[]
}

interface DemonstrationDevice {
  /** 16 lower-case hexadecimal digits, in the block of RFC 9542 for documentation. */
  readonly devEui: string
  readonly name: string
  readonly description: string
  readonly model: DeviceModelId
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
  readonly location: Coordinates
}

/**
 * RFC 9542 §2.2.3: the EUI-64 identifiers 00-00-5E-EF-10-00-00-00 to -FF are for documentation, so
 * they belong to nobody.
 */
const DOCUMENTATION_EUI_PREFIX = '00005eef100000'

/**
 * The largest distance of a device from the centre of its application, in degrees (0.02 is about 2
 * km).
 */
const SPREAD_DEGREES = 0.02

interface Site {
  readonly name: string
  readonly model: DeviceModelId
  readonly description: string
  readonly tags: Readonly<Record<string, string>>
}

interface ApplicationPlan {
  readonly name: string
  readonly description: string
  readonly payloadCodec: '' | 'CAYENNE_LPP'
  readonly centre: Coordinates
  readonly sites: readonly Site[]
}

interface OrganizationPlan {
  readonly name: string
  readonly displayName: string
  readonly users: readonly DemonstrationUser[]
  readonly applications: readonly ApplicationPlan[]
}

/**
 * The demonstration deployment. The same seed gives the same deployment; another seed moves the
 * devices. Names and DevEUIs do not depend on the seed.
 */
export function demonstrationDeployment(seed: number): DemonstrationDeployment {
  const random = createRandom(seed).fork('demonstration')
  let count = 0
  return {
    organizations: ORGANIZATIONS.map((organization) => ({
      name: organization.name,
      displayName: organization.displayName,
      users: organization.users,
      applications: organization.applications.map((application) => ({
        name: application.name,
        description: application.description,
        payloadCodec: application.payloadCodec,
        devices: application.sites.map((site) => {
          count += 1
          return demonstrationDevice(site, count, application.centre, random)
        }),
      })),
    })),
  }
}

/**
 * The simulator's device file for a deployment that exists. `applicationIdOf` gives the id that the
 * service gave to the application of this name.
 */
export function deviceRecords(
  deployment: DemonstrationDeployment,
  applicationIdOf: (applicationName: string) => string,
): DeviceRecord[] {
  return deployment.organizations
    .flatMap((organization) => organization.applications)
    .flatMap((application) =>
      application.devices.map((device) => ({
        applicationID: applicationIdOf(application.name),
        applicationName: application.name,
        deviceName: device.name,
        devEUI: device.devEui,
        model: device.model,
        deviceProfileName: device.deviceProfileName,
        tags: device.tags,
        location: device.location,
      })),
    )
}

function demonstrationDevice(site: Site, number: number, centre: Coordinates, random: Random): DemonstrationDevice {
  return {
    devEui: DOCUMENTATION_EUI_PREFIX + number.toString(16).padStart(2, '0'),
    name: site.name,
    description: site.description,
    model: site.model,
    deviceProfileName: deviceModel(site.model).deviceProfileName,
    tags: site.tags,
    location: {
      latitude: degrees(centre.latitude + random.between(-SPREAD_DEGREES, SPREAD_DEGREES)),
      longitude: degrees(centre.longitude + random.between(-SPREAD_DEGREES, SPREAD_DEGREES)),
      altitude: Math.round(centre.altitude + random.between(0, 20)),
    },
  }
}

/** The number with five decimals: about a metre. */
function degrees(value: number): number {
  return Math.round(value * 100_000) / 100_000
}

const WATER_NETWORK: readonly Site[] = [
  planned('water-meter-school', 'water-meter', 'Main meter of the village school', {
    building: 'school',
    line: 'north',
  }),
  planned('water-meter-town-hall', 'water-meter', 'Main meter of the town hall', {
    building: 'town-hall',
    line: 'north',
  }),
  planned('water-meter-bakery', 'water-meter', 'Meter of the bakery', { building: 'bakery', line: 'north' }),
  planned('water-meter-hotel-edelweiss', 'water-meter', 'Meter of the hotel', { building: 'hotel', line: 'south' }),
  planned('water-meter-dairy', 'water-meter', 'Meter of the dairy', { building: 'dairy', line: 'south' }),
  planned('pressure-north-main', 'pressure-transmitter', 'Pressure in the northern main', { line: 'north' }),
  planned('pressure-south-main', 'pressure-transmitter', 'Pressure in the southern main', { line: 'south' }),
  planned('pressure-pump-outlet', 'pressure-transmitter', 'Pressure behind pump 2', { building: 'pump-house' }),
  planned('level-upper-reservoir', 'water-level', 'Level of the upper reservoir', { reservoir: 'upper' }),
  planned('level-lower-reservoir', 'water-level', 'Level of the lower reservoir', { reservoir: 'lower' }),
  planned('valve-north-main', 'valve-actuator', 'Shut-off valve of the northern main', { line: 'north' }),
  planned('valve-south-main', 'valve-actuator', 'Shut-off valve of the southern main', { line: 'south' }),
  planned('soil-spring-zone-1', 'soil-moisture', 'Soil above the first spring', { zone: 'spring-1' }),
  planned('soil-spring-zone-2', 'soil-moisture', 'Soil above the second spring', { zone: 'spring-2' }),
]

const PUMP_HOUSES: readonly Site[] = [
  planned('climate-pump-house-1', 'temperature-humidity', 'Climate in pump house 1', { building: 'pump-house-1' }),
  planned('climate-pump-house-2', 'temperature-humidity', 'Climate in pump house 2', { building: 'pump-house-2' }),
  planned('climate-treatment-plant', 'temperature-humidity', 'Climate in the treatment plant', {
    building: 'treatment',
  }),
  planned('door-pump-house-1', 'door-contact', 'Door of pump house 1', { building: 'pump-house-1' }),
  planned('door-pump-house-2', 'door-contact', 'Door of pump house 2', { building: 'pump-house-2' }),
  planned('door-treatment-plant', 'door-contact', 'Gate of the treatment plant', { building: 'treatment' }),
  planned('energy-pump-1', 'energy-meter', 'Consumption of pump 1', { building: 'pump-house-1' }),
  planned('energy-pump-2', 'energy-meter', 'Consumption of pump 2', { building: 'pump-house-2' }),
  planned('weather-upper-reservoir', 'weather-station', 'Weather at the upper reservoir', { reservoir: 'upper' }),
  planned('service-van-1', 'gps-tracker', 'Service van of the maintenance crew', { vehicle: 'van-1' }),
]

const HARBOUR: readonly Site[] = [
  planned('parking-quay-01', 'parking-sensor', 'Parking bay 1 on the quay', { bay: '1', zone: 'quay' }),
  planned('parking-quay-02', 'parking-sensor', 'Parking bay 2 on the quay', { bay: '2', zone: 'quay' }),
  planned('parking-quay-03', 'parking-sensor', 'Parking bay 3, for the disabled', { bay: '3', zone: 'quay' }),
  planned('parking-market-01', 'parking-sensor', 'Parking bay 1 at the market', { bay: '1', zone: 'market' }),
  planned('street-light-quay-1', 'street-light', 'Street light at the ferry pier', { zone: 'quay' }),
  planned('street-light-quay-2', 'street-light', 'Street light at the fish market', { zone: 'quay' }),
  planned('co2-library-reading-room', 'co2-sensor', 'Air in the reading room', { building: 'library' }),
  planned('co2-school-room-12', 'co2-sensor', 'Air in class room 12', { building: 'school' }),
  planned('co2-city-hall-council', 'co2-sensor', 'Air in the council chamber', { building: 'city-hall' }),
  planned('ferry-nordlicht', 'gps-tracker', 'The ferry Nordlicht', { vessel: 'nordlicht' }),
  planned('ferry-seeadler', 'gps-tracker', 'The ferry Seeadler', { vessel: 'seeadler' }),
  planned('harbour-master-launch', 'gps-tracker', 'Launch of the harbour master', { vessel: 'launch' }),
  planned('bin-promenade-1', 'waste-bin', 'Bin at the northern end of the promenade', { route: 'a' }),
  planned('bin-promenade-2', 'waste-bin', 'Bin at the southern end of the promenade', { route: 'a' }),
  planned('air-quality-terminal', 'air-quality', 'Particulate matter at the cruise terminal', { zone: 'terminal' }),
  planned('weather-breakwater', 'weather-station', 'Weather on the breakwater', { zone: 'breakwater' }),
]

const ORGANIZATIONS: readonly OrganizationPlan[] = [
  {
    name: 'alpine-valley-water',
    displayName: 'Alpine Valley Water',
    users: [
      { username: 'anna', isAdmin: true },
      { username: 'beat', isAdmin: false },
    ],
    applications: [
      {
        name: 'water-network',
        description: 'Meters, pressure, levels and valves of the drinking water network',
        payloadCodec: '',
        centre: { latitude: 46.5961, longitude: 7.9081, altitude: 820 },
        sites: WATER_NETWORK,
      },
      {
        name: 'pump-houses',
        description: 'Climate, doors and energy of the pump houses, and the service van',
        payloadCodec: 'CAYENNE_LPP',
        centre: { latitude: 46.6203, longitude: 7.8612, altitude: 760 },
        sites: PUMP_HOUSES,
      },
    ],
  },
  {
    name: 'harbour-city',
    displayName: 'Harbour City',
    users: [{ username: 'hanna', isAdmin: true }],
    applications: [
      {
        name: 'smart-harbour',
        description: 'Parking, lights, air, waste and ferries of the harbour district',
        payloadCodec: 'CAYENNE_LPP',
        centre: { latitude: 53.5436, longitude: 9.9663, altitude: 5 },
        sites: HARBOUR,
      },
    ],
  },
]

function planned(
  name: string,
  model: DeviceModelId,
  description: string,
  tags: Readonly<Record<string, string>>,
): Site {
  return { name, model, description, tags }
}
