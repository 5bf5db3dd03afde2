/**
 * The AsyncAPI 3 document of the broker: its servers, topics, messages, User Properties and Reason
 * Codes. It has the same schemas as `/api/schemas`.
 */
import { given } from '../../given.ts'
import { CONTRACTS } from './contracts.ts'
import type { Contract } from './contracts.ts'
import { ASYNC_CHANNELS } from './asyncapi-channels.ts'
import { ASYNC_OPERATIONS } from './asyncapi-operations.ts'
import { REASON_CODE_USES } from './reason-code-list.ts'
import { withReferences } from './schema-documents.ts'
import type { SchemaDocument } from './schema-documents.ts'

/** Where this deployment is reached. */
export interface AsyncApiAddresses {
  /** The address of HTTPS, and of MQTT over WebSocket: `https://fieldgate.example.org:8443`. */
  readonly baseUrl: string
  /** The address of MQTT over TLS. */
  readonly mqtts: { readonly host: string; readonly port: number }
}

const DESCRIPTION =
  'Device events over MQTT 5.0 and 3.1.1, and downlink commands. The operations are those of Fieldgate: it *sends* ' +
  'events, answers and notices, which clients receive, and it *receives* commands. Events come in two families. A ' +
  'payload with `deviceInfo` is of family B (ChirpStack v4, The Things Stack), any other of family A (ChirpStack v3). ' +
  'The endpoints of the OpenAPI document (`/api/openapi.json`) hand out tokens and the exact topics.'

/** The document. The schemas have the same names as in `/api/schemas`. */
export function asyncApiDocument({ baseUrl, mqtts }: AsyncApiAddresses): SchemaDocument {
  const schemas: Record<string, unknown> = {}
  for (const { schema } of CONTRACTS) withReferences(schema, '#/components/schemas/', schemas)
  const sorted = Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Fieldgate',
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      externalDocs: { description: 'The documentation of the broker', url: `${baseUrl}/docs/mqtt` },
    },
    defaultContentType: 'application/json',
    servers: serversOf(baseUrl, mqtts),
    channels: ASYNC_CHANNELS,
    operations: ASYNC_OPERATIONS,
    components: {
      schemas: Object.fromEntries(sorted),
      messages: messages(),
      securitySchemes: {
        brokerToken: {
          type: 'userPassword',
          description:
            'The user name is a broker-access token (a JWT) of `POST /api/mosquitto-auth/login`, and the password is the ' +
            'word `default`. A client of MQTT 5 with the Authentication Method `JWT` renews it by AUTH.',
        },
      },
    },
    'x-user-properties': USER_PROPERTIES,
    'x-reason-codes': REASON_CODE_USES,
  }
}

function serversOf(baseUrl: string, { host, port }: AsyncApiAddresses['mqtts']): SchemaDocument {
  const security = [{ $ref: '#/components/securitySchemes/brokerToken' }]
  const protocolVersion = '5.0'
  return {
    tls: {
      host: `${host}:${port}`,
      protocol: 'secure-mqtt',
      protocolVersion,
      description: 'MQTT 5.0 and 3.1.1 over TLS 1.2 and 1.3. There is no MQTT without TLS.',
      security,
    },
    webSocket: {
      host: new URL(baseUrl).host,
      pathname: '/mqtt',
      protocol: 'wss',
      protocolVersion,
      description: 'The same over WebSocket, with the subprotocol `mqtt`.',
      security,
    },
  }
}

/** By the name of its type, each message with its payload and its sample. */
function messages(): SchemaDocument {
  // Any event is a union of the others, and no message of its own.
  const own = CONTRACTS.filter(({ path }) => path !== 'events/event')
  return Object.fromEntries(
    own.map((contract) => {
      const headers = contract.path === 'commands/command' ? COMMAND_HEADERS : undefined
      return [
        contract.schema.title ?? '',
        messageOf(contract, contract.path.startsWith('events/') ? EVENT_HEADERS : headers),
      ]
    }),
  )
}

function messageOf({ schema: { title, description }, sample }: Contract, headers: object | undefined): object {
  return {
    name: title,
    title,
    summary: description,
    contentType: 'application/json',
    ...given({ headers }),
    payload: { $ref: `#/components/schemas/${title}` },
    examples: [{ name: 'sample', payload: sample }],
  }
}

const EVENT_HEADERS = {
  type: 'object',
  description: 'User Properties of the PUBLISH, for clients of MQTT 5.',
  properties: {
    'event-id': {
      type: 'string',
      pattern: String.raw`^\d+-\d+$`,
      description: 'The event’s id: the same in each delivery, and in the history.',
      examples: ['37-5021'],
    },
  },
} as const

const COMMAND_HEADERS = {
  type: 'object',
  description: 'Properties of the PUBLISH, for clients of MQTT 5.',
  properties: {
    responseTopic: { type: 'string', description: 'The Response Topic, on which the answer comes.' },
    correlationData: { type: 'string', description: 'The Correlation Data, which the answer carries.' },
  },
} as const

const USER_PROPERTIES = [
  { name: 'event-id', packets: ['PUBLISH'], direction: 'to the client', description: 'The id of the event.' },
  {
    name: 'token-expires-at',
    packets: ['CONNACK', 'AUTH'],
    direction: 'to the client',
    description: 'When the token ends, and the connection with it (RFC 3339).',
  },
  {
    name: 'replay-from',
    packets: ['SUBSCRIBE'],
    direction: 'from the client',
    description: 'The id of an event, or a time (RFC 3339): stored events since then come first.',
  },
] as const
