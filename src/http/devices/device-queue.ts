/**
 * The downlink queue of a device: commands by HTTP, judged and answered in the same words as those
 * by MQTT.
 */
import { Type } from 'typebox'
import { DATA_PATTERN } from '../../lorawan/base64.ts'
import { waitWithDevice } from '../../lorawan/commands/command-waits.ts'
import { COMMAND_ID_PATTERN, readCommand } from '../../lorawan/commands/command.ts'
import type { CommandRefused } from '../../lorawan/commands/commands.ts'
import type { DeviceCommands, ListedCommand } from '../../lorawan/commands/device-commands.ts'
import { DOWNLINK_STATES } from '../../lorawan/commands/downlink-item.ts'
import { invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import {
  choice,
  DevEui,
  DevEuiInput,
  digits,
  Empty,
  responses,
  timestamp,
  Timestamp,
  TimestampOrNull,
} from '../api/fields.ts'
import { onDevice } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { ALSO_ACCEPTS, DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { compileValidator } from '../api/validate.ts'
import { isObject } from '../../json.ts'

const Parameters = Type.Object({ devEui: DevEuiInput })
const ItemParameters = Type.Object({
  devEui: DevEuiInput,
  id: Type.String({
    description: 'The command’s id: the sender’s, or the one that the service gave it.',
    examples: ['valve-7'],
    [DOCUMENTED]: { type: 'string', pattern: COMMAND_ID_PATTERN },
  }),
})

/** The routes of the downlink queue. */
export function deviceQueueRoutes(commands: DeviceCommands): readonly Route[] {
  return resource('Devices', [enqueue(commands), listQueue(commands), flushQueue(commands), cancelItem(commands)])
}

/** For the reference: what is wrong with a command is told by the one judge of commands. */
const GivenItem = Type.Object(
  {
    confirmed: Type.Boolean({ description: 'True: sent as confirmed data down.' }),
    fPort: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 255,
        description: 'It may be left out beside an object for whose bytes the codec’s script names the port.',
      }),
    ),
    data: Type.Optional(
      Type.String({
        description:
          'Base64 of at most 242 bytes, in plaintext. It may be left out where object or jsonObject is given.',
        pattern: DATA_PATTERN,
        examples: ['AQID'],
      }),
    ),
    jsonObject: Type.Optional(
      Type.String({
        description: 'A JSON object for the application’s codec, as text; it wins over data.',
        contentMediaType: 'application/json',
        [DOCUMENTED]: { type: 'string', contentMediaType: 'application/json', [ALSO_ACCEPTS]: ['object'] },
      }),
    ),
    object: Type.Optional(
      Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'The same, as an object.' }),
    ),
    id: Type.Optional(
      Type.String({
        pattern: COMMAND_ID_PATTERN,
        description: '1 to 64 visible ASCII characters. The same id twice is one command.',
        examples: ['valve-7'],
      }),
    ),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'RFC 3339 with seconds and an offset. After it the command is not handed over any more.',
        examples: ['2035-01-01T00:00:00Z'],
      }),
    ),
    priority: Type.Optional(
      Type.Integer({ minimum: -1000, maximum: 1000, description: 'Higher goes first; 0 when not given.' }),
    ),
    replace: Type.Optional(Type.Boolean({ description: 'True: what waits for the device is cancelled.' })),
  },
  { description: 'A command', [NAME]: 'NewCommand' },
)
const GivenBody = Type.Object({ deviceQueueItem: GivenItem })
const CheckedBody = Type.Object({
  deviceQueueItem: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }),
})

const State = choice(DOWNLINK_STATES, { description: 'Where the command stands.', [NAME]: 'CommandState' })

const Accepted = Type.Object(
  {
    id: Type.String({ description: 'The command’s id, carried into the events about it.' }),
    state: State,
    repeated: Type.Boolean({ description: 'True when the same command was there already.' }),
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'What the codec has to say; left out where it says nothing.' }),
    ),
  },
  { description: 'The queue owns the command.', [NAME]: 'AcceptedCommand' },
)

function enqueue(commands: DeviceCommands): Route {
  return route({
    method: 'POST',
    url: '/api/devices/:devEui/queue',
    may: onDevice('command.send', 'params.devEui'),
    schema: {
      operationId: 'sendCommand',
      summary: 'Send a command to a device',
      description:
        'The answer comes when the command is stored durably. Events and the list of commands tell its fate.',
      params: Parameters,
      body: GivenBody,
      response: responses(Accepted),
    },
    validatorCompiler: (part) => compileValidator(part.httpPart === 'body' ? { ...part, schema: CheckedBody } : part),
    handle: async ({ device: { applicationId, devEui } }, request) => {
      const item: Readonly<Record<string, unknown>> = request.body.deviceQueueItem
      const answer = await commands.submit({ applicationId, devEui }, readCommand(commandOf(item)))
      if (!answer.ok) throw refusalOf(answer, item)
      const { id, state, isRepeated, warnings } = answer
      return { id, state, repeated: isRepeated, ...(warnings === undefined ? {} : { warnings: [...warnings] }) }
    },
  })
}

const Item = Type.Object(
  {
    id: Type.String(),
    devEUI: DevEui,
    confirmed: Type.Boolean(),
    fPort: Type.Integer({ minimum: 1, maximum: 255 }),
    data: Type.String({
      contentEncoding: 'base64',
      description: 'Base64 of what is sent, after the codec; "" where objectJSON is sent.',
    }),
    objectJSON: Type.String({
      description: 'The object that the network server’s codec makes bytes of, as JSON; "" where data is sent.',
    }),
    priority: Type.Integer(),
    state: State,
    createdAt: Timestamp,
    expiresAt: TimestampOrNull,
    leftQueueAt: TimestampOrNull,
    transmittedAt: TimestampOrNull,
    fCnt: Type.Union([Type.Integer(), Type.Null()], { description: 'Downlink frame counter; null when unknown.' }),
    code: Type.String({ description: 'Why it failed, stable: see docs/errors.md; "" where it has not.' }),
    error: Type.String({ description: 'The same in a sentence.' }),
    waitCode: Type.String({
      description: 'For what it waits at present, stable: see docs/commands.md; "" where it waits for nothing.',
      examples: ['network_server_away'],
    }),
    waitReason: Type.String({ description: 'The same in a sentence.' }),
  },
  { description: 'A command and where it stands', [NAME]: 'Command' },
)

const CommandList = Type.Object(
  { totalCount: digits('How many commands there are.'), deviceQueueItems: Type.Array(Item) },
  { description: 'Commands', [NAME]: 'CommandList' },
)

function listQueue(commands: DeviceCommands): Route {
  return route({
    method: 'GET',
    url: '/api/devices/:devEui/queue',
    may: onDevice('command.read', 'params.devEui'),
    schema: {
      operationId: 'listCommands',
      summary: 'List the commands of a device',
      description:
        'First the waiting commands in the order of sending, then the commands that have left the queue within a day, the ' +
        'latest first; at most 200 in all.',
      params: Parameters,
      response: responses(CommandList),
    },
    handle: async ({ device: { organizationId, lastSeenAtMs, ...target } }) => {
      const items = await commands.list(organizationId, target)
      if (items === 'away') throw queueAway()
      const deviceQueueItems = items.map((item) => itemOf(item, lastSeenAtMs))
      return { totalCount: String(items.length), deviceQueueItems }
    },
  })
}

const FlushedCommands = Type.Object(
  {
    cancelled: Type.Array(Type.String(), { description: 'Ids of the commands that are cancelled.' }),
    sent: Type.Array(Type.String(), {
      description:
        'Ids of the commands that the network server has and could not be asked to forget, or has sent without knowing yet ' +
        'whether they arrived.',
    }),
  },
  { description: 'What became of the commands', [NAME]: 'CancelledCommands' },
)

function flushQueue(commands: DeviceCommands): Route {
  return route({
    method: 'DELETE',
    url: '/api/devices/:devEui/queue',
    may: onDevice('command.send', 'params.devEui'),
    schema: {
      operationId: 'cancelCommands',
      summary: 'Cancel all commands that wait for a device',
      description:
        'Cancels the commands that wait here, and the commands that wait at a network server that can be asked to forget them ' +
        '(ChirpStack v4 by gRPC). The answer also names the commands that could not be recalled.',
      params: Parameters,
      response: responses(FlushedCommands),
    },
    handle: async ({ device: { organizationId, applicationId, devEui } }) => {
      const flushed = await commands.flush(organizationId, { applicationId, devEui })
      if (flushed === undefined) throw notStored()
      if (flushed === 'away') throw queueAway()
      return { cancelled: [...flushed.cancelled], sent: [...flushed.sent] }
    },
  })
}

function cancelItem(commands: DeviceCommands): Route {
  return route({
    method: 'DELETE',
    url: '/api/devices/:devEui/queue/:id',
    may: onDevice('command.send', 'params.devEui'),
    schema: {
      operationId: 'cancelCommand',
      summary: 'Cancel a command',
      description: 'Works as long as the command waits.',
      params: ItemParameters,
      response: responses(Empty),
    },
    handle: async ({ device: { organizationId, ...target } }, request) => {
      switch (await commands.cancel(organizationId, target, request.params.id)) {
        case 'cancelled':
          return {}
        case 'unknown':
          throw objectNotFound()
        case 'too late':
          throw new RequestRefused('failed_precondition', TOO_LATE, 'command_too_late')
        case 'not stored':
          throw notStored()
        case 'away':
          throw queueAway()
      }
    },
  })
}

const TOO_LATE =
  'the command waits here no longer: its network server has it, or its fate is known; one single command can’t be recalled'

function itemOf({ content, ...item }: ListedCommand, lastSeenAtMs: number | null) {
  const wait = waitWithDevice(item.wait, { takenAtMs: item.leftAtMs, lastSeenAtMs })
  return {
    id: content.id,
    devEUI: content.devEui,
    confirmed: content.confirmed,
    fPort: content.fPort,
    data: content.data?.toString('base64') ?? '',
    objectJSON: content.object === undefined ? '' : JSON.stringify(content.object),
    priority: content.priority,
    state: item.state,
    createdAt: timestamp(item.createdAtMs),
    expiresAt: content.expiresAtMs === undefined ? null : timestamp(content.expiresAtMs),
    leftQueueAt: item.leftAtMs === 0 ? null : timestamp(item.leftAtMs),
    transmittedAt: item.transmittedAtMs === 0 ? null : timestamp(item.transmittedAtMs),
    fCnt: item.fCnt ?? null,
    code: item.failure?.code ?? '',
    error: item.failure?.reason ?? '',
    waitCode: wait?.code ?? '',
    waitReason: wait?.reason ?? '',
  }
}

/**
 * The members of this API family as those of a command: `jsonObject` is text, and `data` beside it
 * may be empty.
 */
function commandOf(item: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { jsonObject, devEUI, ...rest } = item
  const command: Record<string, unknown> = rest
  if (devEUI !== undefined && command['devEui'] === undefined) command['devEui'] = devEUI
  if (jsonObject !== undefined && typeof jsonObject !== 'string' && !isObject(jsonObject)) {
    throw invalidArgument('deviceQueueItem.jsonObject: must be JSON as text, or an object')
  }
  if (jsonObject === undefined || jsonObject === '' || command['object'] !== undefined) return command
  if (command['data'] === '') delete command['data']
  return { ...command, object: typeof jsonObject === 'string' ? parsed(jsonObject) : jsonObject }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidArgument('deviceQueueItem.jsonObject: is not JSON')
  }
}

function refusalOf({ code, member, message }: CommandRefused, item: Readonly<Record<string, unknown>>): Error {
  switch (code) {
    case 'command_device_unknown':
      return objectNotFound()
    case 'command_device_disabled':
    case 'command_refused':
      return new RequestRefused('failed_precondition', message, code)
    case 'command_queue_full':
      return new RequestRefused('resource_exhausted', message, code)
    case 'command_not_stored':
      return notStored()
    case 'command_queue_away':
      return queueAway()
    default:
      return invalidArgument(member === undefined ? message : `deviceQueueItem.${asGiven(message, item)}`, code)
  }
}

/** Names the member as the caller has written it. */
function asGiven(message: string, { object, jsonObject, devEui }: Readonly<Record<string, unknown>>): string {
  if (object === undefined && jsonObject !== undefined) return message.replace(/^object/, 'jsonObject')
  return devEui === undefined ? message.replace(/^devEui/, 'devEUI') : message
}

function queueAway(): RequestRefused {
  const message = 'the node that keeps the queue does not answer; try again, a command with the same id'
  return new RequestRefused('unavailable', message, 'command_queue_away')
}

function notStored(): RequestRefused {
  return new RequestRefused('unavailable', 'the change could not be stored; try again', 'command_not_stored')
}
