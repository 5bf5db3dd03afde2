/** The names that a network server gives to a device in an event. */
import { objectAt, parseObject, textAt } from '../../json.ts'

/** A name that the event does not have is empty. */
export interface NetworkServerNames {
  readonly deviceName: string
  readonly applicationId: string
  readonly applicationName: string
  readonly deviceProfileName: string
}

/** Characters of a name that are kept. */
const MAXIMUM_NAME = 100

export const NO_NAMES: NetworkServerNames = {
  deviceName: '',
  applicationId: '',
  applicationName: '',
  deviceProfileName: '',
}

/**
 * Reads the names from the payload of an event. ChirpStack v4, and the events made here of
 * The Things Stack's webhooks, have them in `deviceInfo`. ChirpStack v3 has them at the top.
 * Undefined where the payload is no JSON object.
 */
export function namesIn(payload: Buffer): NetworkServerNames | undefined {
  const event = parseObject(payload)
  if (event === undefined) return undefined
  const info = objectAt(event, 'deviceInfo') ?? event
  const name = (...members: readonly string[]): string => {
    for (const member of members) {
      const text = textAt(info, member)
      if (text !== undefined) return lineOf(text)
    }
    return ''
  }
  return {
    deviceName: name('deviceName'),
    applicationId: name('applicationId', 'applicationID'),
    applicationName: name('applicationName'),
    deviceProfileName: name('deviceProfileName'),
  }
}

/** One line: names of devices in Fieldgate have no control characters. */
function lineOf(text: string): string {
  return text.replace(/\p{C}/gu, ' ').trim().slice(0, MAXIMUM_NAME)
}
