/** The schemas of webhooks, and how settings are read from a body and written into an answer. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { given } from '../../given.ts'
import { parseDevEui } from '../../identity/devices/eui.ts'
import type { DeliveryEntry } from '../../lorawan/webhooks/delivery-log.ts'
import type { WebhookStanding } from '../../lorawan/webhooks/webhook-runner.ts'
import { STORED_EVENT_KINDS } from '../../lorawan/uplinks/event-history.ts'
import { WEBHOOK_BOUNDS } from '../../webhook-settings.ts'
import type { Webhook, WebhookSettings } from '../../webhook-settings.ts'
import { invalidArgument } from '../api/errors.ts'
import {
  A_NAME,
  applicationIdInBody,
  choice,
  DevEuiInput,
  flag,
  idText,
  opaqueId,
  ruledText,
  timestamp,
  Timestamp,
  TimestampOrNull,
} from '../api/fields.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'

const BOUNDS = WEBHOOK_BOUNDS

const EventKind = choice(STORED_EVENT_KINDS, {
  description: 'Kind of event, as in topics.',
  [NAME]: 'WebhookEventKind',
})

const Batch = Type.Object(
  {
    maximumEvents: Type.Integer({ ...BOUNDS.batchEvents, description: 'Events of one request.' }),
    maximumBytes: Type.Integer({ ...BOUNDS.batchBytes, description: 'Bytes of the events of one request.' }),
    waitMs: Type.Integer({
      minimum: 0,
      maximum: BOUNDS.batchWaitMs,
      description: 'How long the first event waits for others, in ms.',
    }),
  },
  { description: 'Several events in each request', [NAME]: 'WebhookBatch' },
)

const Tags = Type.Record(Type.String({ maxLength: 200 }), Type.String({ maxLength: 2_000 }), {
  minProperties: 1,
  maxProperties: BOUNDS.tags,
  description: 'Tags that the device must have, with these values. Absent: all devices.',
  examples: [{ site: 'north' }],
})

const OnRefused = choice(['pause', 'skip'], {
  description: 'How the webhook goes on after an event that is refused time and again.',
  [NAME]: 'WebhookOnRefused',
})

/** The settings of a webhook in a body. */
export const GivenWebhook = Type.Object(
  {
    name: ruledText(BOUNDS.nameLength, 'Name for people.', A_NAME),
    url: Type.String({
      maxLength: BOUNDS.urlLength,
      description: '`https://` or `http://`, without user and password.',
      examples: ['https://billing.example.org/events'],
      [DOCUMENTED]: { type: 'string', maxLength: BOUNDS.urlLength, pattern: '^https?://[!-~]+$' },
    }),
    caCertificate: Type.Optional(
      Type.String({
        maxLength: BOUNDS.caLength,
        description: 'PEM, trusted in the place of the system’s authorities.',
        [DOCUMENTED]: { type: 'string', maxLength: BOUNDS.caLength, pattern: '-----BEGIN CERTIFICATE-----' },
      }),
    ),
    applicationIds: Type.Optional(
      Type.Array(applicationIdInBody('Application id.'), {
        minItems: 1,
        maxItems: BOUNDS.applications,
        description: 'Absent: all applications of the organization.',
      }),
    ),
    devEuis: Type.Optional(
      Type.Array(DevEuiInput, { minItems: 1, maxItems: BOUNDS.devices, description: 'Absent: all devices.' }),
    ),
    tags: Type.Optional(Tags),
    eventKinds: Type.Optional(
      Type.Array(EventKind, { minItems: 1, maxItems: STORED_EVENT_KINDS.length, description: 'Absent: all kinds.' }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: BOUNDS.headerValueLength }), {
        maxProperties: BOUNDS.headers,
        description:
          'Header fields of each request. The values are never told again. On a change, absent: they stay as they are.',
        examples: [{ 'x-source': 'fieldgate' }],
        [DOCUMENTED]: {
          type: 'object',
          maxProperties: BOUNDS.headers,
          propertyNames: { type: 'string', pattern: '^x-[a-z0-9-]{1,60}$' },
          additionalProperties: { type: 'string', pattern: '^[!-~]+$', maxLength: BOUNDS.headerValueLength },
        },
      }),
    ),
    batch: Type.Optional(Batch),
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BOUNDS.concurrency,
        description: 'Requests at the same time; 4 when absent.',
      }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BOUNDS.timeoutSeconds,
        description: 'The time for one request with its whole answer; 10 when absent.',
      }),
    ),
    giveUpSeconds: Type.Optional(
      Type.Integer({
        minimum: BOUNDS.giveUpSeconds.minimum,
        maximum: BOUNDS.giveUpSeconds.maximum,
        description: `How long failing requests are repeated before the webhook is paused; ${BOUNDS.giveUpSeconds.default} when absent.`,
      }),
    ),
    onRefused: Type.Optional(OnRefused),
    acceptsCommands: Type.Optional(flag('Whether answers may hold a command for the event’s device.')),
  },
  { description: 'The settings of a webhook', [NAME]: 'NewWebhook' },
)

/** Members of the settings. */
const MEMBERS = Object.keys(GivenWebhook.properties)

const Settings = {
  name: Type.String(),
  url: Type.String(),
  caCertificate: Type.Optional(Type.String({ description: 'PEM.' })),
  applicationIds: Type.Optional(Type.Array(Type.String())),
  devEuis: Type.Optional(Type.Array(Type.String())),
  tags: Type.Optional(Type.Record(Type.String(), Type.String())),
  eventKinds: Type.Optional(Type.Array(EventKind)),
  headerNames: Type.Array(Type.String(), { description: 'The values are never told.' }),
  batch: Type.Optional(Batch),
  concurrency: Type.Integer(),
  timeoutSeconds: Type.Integer(),
  giveUpSeconds: Type.Integer(),
  onRefused: OnRefused,
  acceptsCommands: Type.Boolean(),
}

const Standing = Type.Object(
  {
    state: choice(['running', 'failing', 'paused', 'unknown'], {
      description: '`unknown`: no node of the deployment answers for the webhook at present.',
      [NAME]: 'WebhookState',
    }),
    waitingEvents: Type.Integer({ description: 'Events that were read and are not delivered yet.' }),
    isAtTail: flag('Whether no further events wait in the log.'),
    requestsUnderWay: Type.Integer(),
    deliveredAt: TimestampOrNull,
    failingSince: TimestampOrNull,
    nextTryAt: TimestampOrNull,
    missedAtMost: Type.Integer({ description: 'Events that the log has deleted before they were sent, at most.' }),
    eventsDelivered: Type.Integer({ description: 'Since the webhook’s node started.' }),
    eventsSkipped: Type.Integer({ description: 'Since the webhook’s node started.' }),
  },
  { description: 'How a webhook stands', [NAME]: 'WebhookStanding' },
)

/** A webhook in an answer. */
export const WebhookItem = Type.Object(
  {
    id: opaqueId('Webhook id.'),
    ...Settings,
    pausedAt: TimestampOrNull,
    pauseCode: Type.String({ description: 'Why it is paused, stable: see docs/errors.md; "" where it is not.' }),
    pauseReason: Type.String({ description: 'The same in a sentence.' }),
    secretsInForce: Type.Integer({ description: '2 during the overlap of a rotation.' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { description: 'Webhook', [NAME]: 'Webhook' },
)

/** A webhook by itself, with its standing. */
export const WebhookDetails = Type.Object(
  { webhook: WebhookItem, standing: Standing },
  { description: 'A webhook by itself', [NAME]: 'WebhookDetails' },
)

/** The answer that tells a secret. */
export const IssuedWebhook = Type.Object(
  { id: opaqueId('Webhook id.'), secret: Type.String({ description: '`whsec_` and Base64. Told only here.' }) },
  { description: 'A webhook with its secret', [NAME]: 'IssuedWebhook' },
)

/** One entry of the delivery log. */
export const Delivery = Type.Object(
  {
    time: Timestamp,
    outcome: choice(['delivered', 'failed', 'skipped', 'missed', 'paused', 'test'], {
      description: '`missed` and `paused` are notices without a request.',
      [NAME]: 'WebhookDeliveryOutcome',
    }),
    webhookId: Type.String({ description: 'The header field webhook-id; "" for a notice.' }),
    events: Type.Integer({ description: 'Events of the request.' }),
    devEui: Type.String({ description: 'The device of the first event; "" for a notice.' }),
    kind: Type.String({ description: 'The kind of the first event; "" for a notice.' }),
    tries: Type.Integer({ description: 'The number of this try.' }),
    status: Type.Union([Type.Integer(), Type.Null()], { description: 'Of the answer; null where none came.' }),
    durationMs: Type.Integer(),
    code: Type.String({ description: 'Why it failed, stable: see docs/errors.md; "" where it has not.' }),
    reason: Type.String({ description: 'The same in a sentence.' }),
    answer: Type.String({ description: 'The beginning of the answer, up to 1,024 bytes.' }),
    command: Type.Union(
      [
        Type.Object(
          {
            id: Type.String(),
            outcome: Type.String({ description: '`queued`, `repeated`, or the code of the refusal.' }),
            reason: Type.String(),
          },
          { [NAME]: 'WebhookCommand' },
        ),
        Type.Null(),
      ],
      { description: 'The command in the answer; null where there was none.' },
    ),
  },
  { description: 'A request of a webhook, or a notice', [NAME]: 'WebhookDelivery' },
)

/**
 * Refuses members that are not known: a typing error would send events that nobody chose. `body` is
 * the body of a request whose shape was checked.
 */
export function refuseUnknownMembers(body: { readonly webhook: object }): void {
  if (Object.keys(body.webhook).every((name) => MEMBERS.includes(name))) return
  throw invalidArgument(`webhook: must have no other members than ${MEMBERS.join(', ')}`)
}

/** The settings and the header fields of a body. */
export function fieldsOf(body: Static<typeof GivenWebhook>): {
  readonly settings: WebhookSettings
  readonly headers: Readonly<Record<string, string>> | undefined
} {
  const { applicationIds, devEuis, headers, caCertificate, tags, eventKinds, batch } = body
  const settings = {
    name: body.name,
    url: body.url,
    concurrency: body.concurrency ?? 4,
    timeoutSeconds: body.timeoutSeconds ?? 10,
    giveUpSeconds: body.giveUpSeconds ?? BOUNDS.giveUpSeconds.default,
    onRefused: body.onRefused ?? 'pause',
    acceptsCommands: body.acceptsCommands ?? false,
    ...given({
      caCertificate,
      applicationIds: applicationIds?.map(idText),
      devEuis: devEuis?.map((devEui) => parseDevEui(devEui) ?? devEui),
      tags,
      eventKinds,
      batch,
    }),
  }
  return { settings, headers }
}

/** A webhook as it is written. */
export function itemOf(webhook: Webhook) {
  const { caCertificate, applicationIds, devEuis, tags, eventKinds, batch, pause } = webhook
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    ...given({
      caCertificate,
      applicationIds: applicationIds && [...applicationIds],
      devEuis: devEuis && [...devEuis],
      tags: tags && { ...tags },
      eventKinds: eventKinds && ([...eventKinds] as Static<typeof EventKind>[]),
      batch: batch && { ...batch },
    }),
    headerNames: Object.keys(webhook.headers),
    concurrency: webhook.concurrency,
    timeoutSeconds: webhook.timeoutSeconds,
    giveUpSeconds: webhook.giveUpSeconds,
    onRefused: webhook.onRefused,
    acceptsCommands: webhook.acceptsCommands,
    pausedAt: pause === undefined ? null : timestamp(pause.atMs),
    pauseCode: pause?.code ?? '',
    pauseReason: pause?.reason ?? '',
    secretsInForce: webhook.secrets.length,
    createdAt: timestamp(webhook.createdAtMs),
    updatedAt: timestamp(webhook.updatedAtMs),
  }
}

/** The standing as it is written. Undefined: no node runs the webhook at present. */
export function standingOf(standing: WebhookStanding | undefined, isPaused: boolean) {
  return {
    state: isPaused ? ('paused' as const) : (standing?.state ?? ('unknown' as const)),
    waitingEvents: standing?.waitingEvents ?? 0,
    isAtTail: standing?.isAtTail ?? false,
    requestsUnderWay: standing?.requestsUnderWay ?? 0,
    deliveredAt: timeOrNull(standing?.deliveredAtMs),
    failingSince: timeOrNull(standing?.failingSinceMs),
    nextTryAt: timeOrNull(standing?.nextTryAtMs),
    missedAtMost: standing?.missedAtMost ?? 0,
    eventsDelivered: standing?.eventsDelivered ?? 0,
    eventsSkipped: standing?.eventsSkipped ?? 0,
  }
}

/** An entry of the delivery log as it is written. */
export function deliveryOf(entry: DeliveryEntry) {
  const { atMs, status, command, ...others } = entry
  return {
    time: timestamp(atMs),
    ...others,
    status: status ?? null,
    command: command === undefined ? null : { ...command },
  }
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : timestamp(ms)
}
