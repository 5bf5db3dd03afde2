/** The channels of the AsyncAPI document: every topic that an integrator may use. */
import { RESPONSE_LEVEL } from '../topics.ts'
import type { AnyEventKind } from '../topics.ts'
import { CONTRACTS, FAMILIES, eventPath, kindsOfFamily, normalizedPath, STATE_PATH } from './contracts.ts'
import type { EventFamily } from './contracts.ts'
import type { SchemaDocument } from './schema-documents.ts'

const APPLICATION = 'application/{applicationId}'
const DEVICE = `${APPLICATION}/device/{devEui}`

const applicationId = {
  description: 'The application’s id: digits, or a UUID.',
  examples: ['5', 'f947ded9-4b5f-401d-8a71-dc00fd4a17b0'],
} as const

const devEui = {
  description: 'The DevEUI: 16 hexadecimal digits in lower case.',
  examples: ['0102030405060708'],
} as const

const group = { description: 'The name of the group. Groups of two organizations are two groups.' } as const

const from = {
  description: 'The id of an event, or a time in UTC.',
  examples: ['37-5021', '2026-01-01T00:00:00Z'],
} as const

/** The kind of event that the service itself publishes. */
const STATE_KIND = 'state' satisfies AnyEventKind

/** All kinds of event; `log` is of family B alone, `state` of no family. */
export const ALL_KINDS: readonly string[] = [
  ...new Set(FAMILIES.flatMap((family) => kindsOfFamily(family))),
  STATE_KIND,
]

function pathOfKind(family: EventFamily, kind: string): string {
  return kind === STATE_KIND ? STATE_PATH : eventPath(family, kind)
}

/**
 * The names of the message types of a kind of event, or of all kinds, in both families and
 * normalized.
 */
function eventTypesOf(kind?: string): readonly string[] {
  const paths = new Set(
    (kind === undefined ? ALL_KINDS : [kind]).flatMap((one) =>
      FAMILIES.map((family) => pathOfKind(family, one)).concat(normalizedPath(one)),
    ),
  )
  return CONTRACTS.filter(({ path }) => paths.has(path)).map(({ schema }) => schema.title ?? '')
}

interface Channel {
  readonly address: string
  readonly title: string
  readonly description: string
  readonly parameters?: object
  readonly messages: SchemaDocument
}

function channel(
  address: string,
  title: string,
  description: string,
  types: readonly string[],
  parameters?: object,
): Channel {
  const messages = Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${type}` }]))
  return { address, title, description, ...(parameters === undefined ? {} : { parameters }), messages }
}

/** The name of the channel of one kind of event. */
export function kindChannel(kind: string): string {
  return `${kind}Events`
}

const EVENTS = eventTypesOf()

/** By name. The order is that of the document. */
export const ASYNC_CHANNELS: Readonly<Record<string, Channel>> = {
  eventsOfApplication: channel(
    `${APPLICATION}/device/+/event/+`,
    'All events of an application',
    'The Topic Filter of `GET /api/mosquitto-auth/subscribe-application-events`. `+` may stand for the device and the kind.',
    EVENTS,
    { applicationId },
  ),
  eventsOfDevice: channel(
    `${DEVICE}/event/+`,
    'All events of a device',
    'The last Topic Filter of `GET /api/mosquitto-auth/subscribe-device-events`.',
    EVENTS,
    { applicationId, devEui },
  ),
  eventsOfAllApplications: channel(
    'application/+/device/+/event/+',
    'All events that the token may see',
    'Granted to a token that was issued with `reachesAllApplications` alone. Applications that are made later are included.',
    EVENTS,
  ),
  sharedEvents: channel(
    `$share/{group}/${APPLICATION}/device/+/event/+`,
    'All events of an application, shared by a group of clients',
    'Each event goes to one client of the group.',
    EVENTS,
    { group, applicationId },
  ),
  replayedEvents: channel(
    `$replay/{from}/${APPLICATION}/device/+/event/+`,
    'Stored events of an application, and then live ones',
    'Messages come under their own topics. MQTT 5 has the User Property `replay-from` of SUBSCRIBE for the same.',
    EVENTS,
    { from, applicationId },
  ),
  ...Object.fromEntries(
    ALL_KINDS.map((kind) => [
      kindChannel(kind),
      channel(
        `${DEVICE}/event/${kind}`,
        `Events of the kind ${kind}`,
        'The topic of one kind of event of one device.',
        eventTypesOf(kind),
        { applicationId, devEui },
      ),
    ]),
  ),
  command: channel(
    `${DEVICE}/command/down`,
    'Commands for a device',
    'The topic of `GET /api/mosquitto-auth/send-command`. A command is never retained, and is delivered to the network server alone.',
    ['Command'],
    { applicationId, devEui },
  ),
  commandAnswer: channel(
    `${DEVICE}/event/${RESPONSE_LEVEL}`,
    'Answers to commands',
    'The recommended Response Topic. Another one is taken if the sender may subscribe to it, and if it is no event’s topic.',
    ['CommandAnswer'],
    { applicationId, devEui },
  ),
  missed: channel('$notice/missed', 'Missed messages', 'For the client’s own Session alone.', ['MissedNotice']),
  tokenExpires: channel(
    '$notice/token-expires',
    'The end of the token',
    'For the client’s own Session alone: a tenth of the token’s life before its end, from one to ten minutes.',
    ['TokenExpiresNotice'],
  ),
}
