/**
 * The messages about commands: the command itself, and the answer to it on a Response Topic.
 */
import { Type } from 'typebox'
import { DATA_PATTERN } from '../base64.ts'
import { COMMAND_ID_PATTERN } from '../commands/command.ts'
import { DOWNLINK_STATES } from '../commands/downlink-item.ts'
import { applicationIdText, devEuiText, time, word } from './schema-words.ts'

/** The shape of a DevEUI that a client sends: upper case is taken as well. */
const ANY_EUI = '^[0-9A-Fa-f]{16}$'

const data = Type.String({
  description: 'At most 242 bytes in base64 (RFC 4648 §4, padding may be left out), in plaintext.',
  contentEncoding: 'base64',
  pattern: DATA_PATTERN,
})

const object = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: true,
  description: 'The input of the application’s codec. It wins over `data` where there is a codec.',
})

const port = {
  confirmed: Type.Boolean({ description: 'True: the device must acknowledge the command.' }),
  fPort: Type.Integer({ description: 'The port on the device.', minimum: 1, maximum: 255 }),
}

const wishes = {
  id: Type.Optional(
    Type.String({
      description: 'The sender’s id of the command. The service makes a UUID where it is missing.',
      pattern: COMMAND_ID_PATTERN,
    }),
  ),
  expiresAt: Type.Optional(time('After this time the command is not handed over any more.')),
  priority: Type.Optional(
    Type.Integer({ description: 'The highest goes first; 0 where it is missing.', minimum: -1_000, maximum: 1_000 }),
  ),
  replace: Type.Optional(Type.Boolean({ description: 'True: cancels all commands that wait for the device.' })),
  devEui: Type.Optional(Type.String({ description: 'Must be the device of the topic.', pattern: ANY_EUI })),
}

const CommandWithData = Type.Object(
  { ...port, data, object: Type.Optional(object), ...wishes },
  { title: 'CommandWithData', description: 'A command with the bytes for the device.' },
)

const CommandWithObject = Type.Object(
  { ...port, fPort: Type.Optional(port.fPort), data: Type.Optional(data), object, ...wishes },
  { title: 'CommandWithObject', description: 'A command with an object for the application’s codec.' },
)

/** A command as a client publishes it (specification §2.8). */
export const Command = Type.Union([CommandWithData, CommandWithObject], {
  title: 'Command',
  description: 'A downlink command for one device. At least one of `data` and `object` must be there.',
})

const target = { applicationId: applicationIdText('The application’s id.'), devEui: devEuiText() }

const Accepted = Type.Object(
  {
    ...target,
    id: Type.String({ description: 'The command’s id.' }),
    accepted: Type.Literal(true),
    state: word(DOWNLINK_STATES, 'The command’s state. Only a repeated command has another one than `queued`.'),
    repeated: Type.Boolean({ description: 'True if the service has the command already, by its id.' }),
    warnings: Type.Optional(Type.Array(Type.String(), { description: 'What the codec has to say about the object.' })),
  },
  { title: 'CommandAccepted', description: 'The command is in the queue.' },
)

const Refused = Type.Object(
  {
    ...target,
    id: Type.String({ description: 'The command’s id; empty where it could not be read.' }),
    accepted: Type.Literal(false),
    code: Type.String({ description: 'The stable code of the page “Errors”.' }),
    member: Type.String({ description: 'The member at fault; empty for the whole.' }),
    error: Type.String({ description: 'A sentence for people.' }),
  },
  { title: 'CommandRefused', description: 'The command is refused, and nothing will be sent.' },
)

/** The answer on the Response Topic of a command. */
export const CommandAnswer = Type.Union([Accepted, Refused], {
  title: 'CommandAnswer',
  description: 'The answer to a command, on its Response Topic. `accepted` tells the two shapes apart.',
})
