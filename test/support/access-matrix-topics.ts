/** The topic shapes of the access matrix, over two neighbouring organizations. */

/**
 * The deployment: organization A has two applications, B has one; each application has its own
 * device.
 */
export interface Places {
  readonly applicationA: string
  readonly otherApplicationA: string
  readonly applicationB: string
  readonly deviceA: string
  readonly otherDeviceA: string
  readonly deviceB: string
  /** A disabled device of application A. */
  readonly disabledDeviceA: string
}

export const UNKNOWN_APPLICATION = '999999'
export const UNKNOWN_DEVICE = 'ffffffffffffff01'

const KINDS = ['up', 'join', 'ack', 'error', 'status', 'location', 'txack'] as const

/** Each shape once. The same list serves as Topic Names and as Topic Filters. */
export function topicShapes(places: Places): string[] {
  const { applicationA, otherApplicationA, applicationB, deviceA, otherDeviceA, deviceB, disabledDeviceA } = places
  const own = ofDevice(applicationA, deviceA)
  const shapes = [
    ...own,
    ...ofDevice(applicationB, deviceB),
    ...few(otherApplicationA, otherDeviceA),
    ...few(applicationA, disabledDeviceA),
    ...few(applicationA, UNKNOWN_DEVICE),
    ...few(UNKNOWN_APPLICATION, deviceA),
    // A device under another application of its organization, and devices under the neighbour's
    // application.
    ...few(otherApplicationA, deviceA),
    ...few(applicationA, deviceB),
    ...few(applicationB, deviceA),
    ...climbing(applicationA, applicationB, deviceA, deviceB),
    ...misspelt(applicationA, deviceA),
    ...shared(applicationA, applicationB, deviceA),
    ...foreignToAll,
  ]
  return [...new Set(shapes)]
}

/** The topics of endpoints 5 to 7 for one device, and topics between them. */
function ofDevice(application: string, device: string): string[] {
  const root = `application/${application}/device`
  return [
    ...few(application, device),
    ...KINDS.map((kind) => `${root}/${device}/event/${kind}`),
    // ChirpStack v4 publishes these besides the specification's seven kinds.
    `${root}/${device}/event/log`,
    `${root}/${device}/event/integration`,
    `${root}/+/event/+`,
    `${root}/+/event/up`,
    `${root}/+/command/down`,
    `${root}/${device}/command/+`,
  ]
}

function few(application: string, device: string): string[] {
  const root = `application/${application}/device/${device}`
  return [`${root}/event/up`, `${root}/event/+`, `${root}/command/down`]
}

/** Wildcards and dots that try to reach a neighbour. */
function climbing(applicationA: string, applicationB: string, deviceA: string, deviceB: string): string[] {
  return [
    '#',
    '+',
    '/#',
    '+/#',
    '+/+/+/+/+/+',
    'application/#',
    'application/+/#',
    'application/+/device/#',
    'application/+/device/+/event/+',
    'application/+/device/+/event/up',
    `application/+/device/${deviceA}/event/up`,
    'application/+/device/+/command/down',
    'application/+/device/+/command/+',
    `application/+/device/${deviceA}/command/down`,
    'application/+/device/+/+/+',
    `+/${applicationA}/device/+/event/+`,
    `application/${applicationA}/#`,
    `application/${applicationA}/device/#`,
    `application/${applicationA}/device/+/#`,
    `application/${applicationA}/device/+/event/#`,
    `application/${applicationA}/device/${deviceA}/#`,
    `application/${applicationA}/device/${deviceA}/event/#`,
    `application/${applicationA}/device/${deviceA}/event/up/#`,
    `application/${applicationA}/device/+/+/+`,
    `application/${applicationA}/device/${deviceA}/+/down`,
    `application/${applicationA}/+/${deviceA}/event/up`,
    `application/${applicationA}/../${applicationB}/device/+/event/+`,
    `application/${applicationA}/../${applicationB}/device/${deviceB}/command/down`,
    `application/${applicationA}/device/../../${applicationB}/device/${deviceB}/event/up`,
  ]
}

/** Slightly misspelt topics. */
function misspelt(application: string, device: string): string[] {
  const root = `application/${application}/device`
  const upper = device.toUpperCase()
  return [
    `${root}/${upper}/event/up`,
    `${root}/${upper}/command/down`,
    `${root}/0x${device}/command/down`,
    `${root}/${device.slice(1)}/event/up`,
    `${root}/${device}/event/up/`,
    `${root}/${device}/command/down/`,
    `${root}/+/event/+/`,
    `/${root}/${device}/event/up`,
    `/${root}/${device}/command/down`,
    `APPLICATION/${application}/device/${device}/event/up`,
    `application/0${application}/device/${device}/event/up`,
    `application/0${application}/device/${device}/command/down`,
    `application/ ${application}/device/${device}/command/down`,
    `application//device/${device}/event/up`,
    `${root}//event/up`,
    `${root}/${device}/event/`,
    `${root}/${device}/event/UP`,
    `${root}/${device}/event/rx`,
    `${root}/${device}/event/up/more`,
    `${root}/${device}/command/up`,
    `${root}/${device}/command`,
    `${root}/${device}`,
    `${root}/${device}/error`,
    `application/${application}`,
    // A full-width digit, and letters that Unicode's folding would turn into the device's own.
    `application/\uff11/device/${device}/event/up`,
    `application/${application}/device/${device}/event/\uff55\uff50`,
    `${root}/${device}/command/down\u200b`,
    `${root}/${'a'.repeat(1100)}/event/up`,
    `${root}/${device}/event/up${'/x'.repeat(150)}`,
  ]
}

function shared(applicationA: string, applicationB: string, deviceA: string): string[] {
  const behind = [
    `application/${applicationA}/device/+/event/+`,
    `application/${applicationA}/device/${deviceA}/event/up`,
    `application/${applicationA}/device/+/command/down`,
    `application/${applicationA}/#`,
    `application/${applicationB}/device/+/event/+`,
    'application/+/device/+/command/+',
    'application/+/device/+/event/+',
    '#',
  ]
  return [...behind.map((topicFilter) => `$share/g/${topicFilter}`), '$share/g', '$share//a', '$share/+/a', '$share/g/']
}

const foreignToAll = [
  '$SYS/#',
  '$SYS/+/clients',
  '$SYS/broker/clients/connected',
  '$share',
  '$queue/a',
  'a',
  '/',
  ' ',
  'gateway/+/event/up',
  'v3/application@tenant/devices/dev/up',
]
