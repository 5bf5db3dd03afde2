/** The event by which the service tells that the state of a device has changed. */
import { Type } from 'typebox'
import type { StateEvent as StateEventPayload } from '../fleet/state-event.ts'
import { applicationIdText, devEuiText, time, word } from './schema-words.ts'

const numberOrNull = (description: string) => Type.Union([Type.Number(), Type.Null()], { description })

/** The payload on `.../event/state`. It is the same whatever the network server is. */
export const StateEvent = Type.Object(
  {
    time: time('When the event was made.'),
    applicationID: applicationIdText('The application’s id. Never read it as a number: it may be a UUID.'),
    devEUI: devEuiText(),
    deviceName: Type.String({ description: 'The device’s name.' }),
    state: word(['ON_TIME', 'LATE', 'SILENT', 'NEVER_HEARD'], 'How the device is heard, by its interval.'),
    stateSince: Type.Union([time('When the state began.'), Type.Null()]),
    lowBattery: Type.Boolean({ description: 'The battery is nearly empty.' }),
    weakSignal: Type.Boolean({ description: 'The signal is hardly better than what its spreading factor needs.' }),
    losingFrames: Type.Boolean({ description: 'Many uplinks do not arrive.' }),
    lastSeenAt: Type.Union([time('When the device was heard last.'), Type.Null()]),
    intervalSeconds: numberOrNull('The time between two uplinks, in seconds; null when it is not known.'),
    lossPercent: numberOrNull('Uplinks that did not arrive, by the frame counter; null when it is not known.'),
    batteryLevel: numberOrNull('Percent; null when it is not known.'),
    rssi: numberOrNull('dBm, at the gateway that heard the device best; null when it is not known.'),
    snr: numberOrNull('dB, at the same gateway; null when it is not known.'),
  },
  {
    title: 'StateEvent',
    description:
      'The state of a device has changed, or one of its flags. The service publishes it, not a network server.',
  },
)

/** A device that has fallen silent. */
export const STATE_SAMPLE: StateEventPayload = {
  time: '2026-01-31T08:30:05.000Z',
  applicationID: '5',
  devEUI: '0102030405060708',
  deviceName: 'Meter 1',
  state: 'SILENT',
  stateSince: '2026-01-31T08:30:04.482Z',
  lowBattery: false,
  weakSignal: true,
  losingFrames: false,
  lastSeenAt: '2026-01-31T08:00:04.482Z',
  intervalSeconds: 600,
  lossPercent: 2.5,
  batteryLevel: 81.5,
  rssi: -118,
  snr: -6.5,
}
