/**
 * The list of all contracts: each message that leaves or enters the service by MQTT, with its
 * schema, its address and a sample. The JSON Schemas of `/api/schemas/v1`, the AsyncAPI document
 * and the types of the SDKs come from this list.
 */
import { Type } from 'typebox'
import type { TSchema } from 'typebox'
import { Command, CommandAnswer } from './command-messages.ts'
import { FAMILY_A } from './family-a.ts'
import { FAMILY_B } from './family-b.ts'
import { NORMALIZED } from './normalized.ts'
import { MissedNotice, TokenExpiresNotice } from './notices.ts'
import { SAMPLES_A } from './samples-a.ts'
import { SAMPLES_B } from './samples-b.ts'
import { SAMPLES_NORMALIZED } from './samples-normalized.ts'
import { STATE_SAMPLE, StateEvent } from './state-message.ts'

/** The version of all contracts. A change that breaks a client makes another version. */
export const CONTRACT_VERSION = 'v1'

/** The two spellings of events: `a` is that of ChirpStack v3, `b` that of ChirpStack v4. */
export const FAMILIES = ['a', 'b'] as const

export type EventFamily = (typeof FAMILIES)[number]

/** One message. */
export interface Contract {
  /** Its address below `/api/schemas/v1/`, without `.json`: `events/a/up`. */
  readonly path: string
  /** The schema, with its nested parts in place. Its `title` is the name of its type. */
  readonly schema: TSchema & { readonly title?: string; readonly description?: string }
  /** A message that agrees with the schema. */
  readonly sample: unknown
  /** `received`: clients receive the message. `sent`: clients send it. */
  readonly direction: 'received' | 'sent'
}

const KINDS: Readonly<Record<EventFamily, Readonly<Record<string, TSchema>>>> = { a: FAMILY_A, b: FAMILY_B }
const SAMPLES: Readonly<Record<EventFamily, Readonly<Record<string, unknown>>>> = { a: SAMPLES_A, b: SAMPLES_B }

/** The kinds of event of a family, in the order of the contracts. */
export function kindsOfFamily(family: EventFamily): readonly string[] {
  return Object.keys(KINDS[family])
}

/** The address of the contract of a kind of event. */
export function eventPath(family: EventFamily, kind: string): string {
  return `events/${family}/${kind}`
}

/** The address of the contract of the service's own event. */
export const STATE_PATH = 'events/state'

/** The address of the contract of a kind of event in the shape NORMALIZED. */
export function normalizedPath(kind: string): string {
  return `events/normalized/${kind}`
}

const payloads: readonly Contract[] = FAMILIES.flatMap((family) =>
  Object.entries(KINDS[family]).map(([kind, schema]) => ({
    path: eventPath(family, kind),
    schema,
    sample: SAMPLES[family][kind],
    direction: 'received',
  })),
)

const normalizedSamples: Readonly<Record<string, unknown>> = SAMPLES_NORMALIZED

/** The events of an application that has chosen the shape NORMALIZED. */
const normalized: readonly Contract[] = Object.entries(NORMALIZED).map(([kind, schema]) => ({
  path: normalizedPath(kind),
  schema,
  sample: normalizedSamples[kind],
  direction: 'received',
}))

/**
 * Any event, with the two facts that its payload doesn't tell: its kind, which is in its topic, and
 * its family. One of a union whose members `family` and `kind` tell the shapes apart.
 */
const DeviceEvent = Type.Union(
  FAMILIES.flatMap((family) =>
    Object.entries(KINDS[family]).map(([kind, payload]) =>
      Type.Object(
        { family: Type.Literal(family), kind: Type.Literal(kind), payload },
        { title: `Received${String((payload as { title?: string }).title)}` },
      ),
    ),
  ),
  {
    title: 'DeviceEvent',
    description:
      'Any event, with its kind (the last level of its topic) and its family: `b` if the payload has `deviceInfo`, else `a`.',
  },
)

/** All contracts of this version, in a fixed order. */
export const CONTRACTS: readonly Contract[] = [
  ...payloads,
  ...normalized,
  {
    path: 'events/event',
    schema: DeviceEvent,
    sample: { family: 'a', kind: 'up', payload: SAMPLES_A.up },
    direction: 'received',
  },
  { path: STATE_PATH, schema: StateEvent, sample: STATE_SAMPLE, direction: 'received' },
  {
    path: 'commands/command',
    schema: Command,
    sample: { confirmed: true, fPort: 10, data: 'AQID', id: 'valve-7', expiresAt: '2030-01-02T03:04:05Z' },
    direction: 'sent',
  },
  {
    path: 'commands/answer',
    schema: CommandAnswer,
    sample: {
      applicationId: '5',
      devEui: '0102030405060708',
      id: 'valve-7',
      accepted: true,
      state: 'queued',
      repeated: false,
    },
    direction: 'received',
  },
  {
    path: 'notices/missed',
    schema: MissedNotice,
    sample: { missedAtMost: 1_204, time: '2026-01-31T08:00:04.482Z' },
    direction: 'received',
  },
  {
    path: 'notices/token-expires',
    schema: TokenExpiresNotice,
    sample: { expiresAt: '2026-01-31T08:10:00.000Z', secondsLeft: 600 },
    direction: 'received',
  },
]
