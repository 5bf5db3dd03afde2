/**
 * The operations of the AsyncAPI document, from Fieldgate's side: it sends what clients receive.
 */
import { ALL_KINDS, ASYNC_CHANNELS, kindChannel } from './asyncapi-channels.ts'

interface Operation {
  readonly action: 'send' | 'receive'
  readonly channel: { readonly $ref: string }
  readonly title: string
  readonly description?: string
  readonly messages: readonly { readonly $ref: string }[]
  readonly bindings: object
  readonly reply?: object
}

function operation(
  action: Operation['action'],
  name: string,
  bindings: object,
  more: { readonly description?: string; readonly reply?: object } = {},
): Operation {
  const { title, messages } = ASYNC_CHANNELS[name] ?? { title: '', messages: {} }
  const channel = { $ref: `#/channels/${name}` }
  const types = Object.keys(messages).map((type) => ({ $ref: `${channel.$ref}/messages/${type}` }))
  return { action, channel, title, ...more, messages: types, bindings: { mqtt: bindings } }
}

const AS_SUBSCRIBED = { qos: 1, bindingVersion: '0.2.0' } as const

const EVENT_CHANNELS = [
  'eventsOfApplication',
  'eventsOfDevice',
  'eventsOfAllApplications',
  'sharedEvents',
  'replayedEvents',
  ...ALL_KINDS.map((kind) => kindChannel(kind)),
]

const DELIVERY =
  'At the lower of the QoS of the publisher and of the subscription. Ask for QoS 1 and a Session that outlives the connection, and nothing is missed.'

/** By name. */
export const ASYNC_OPERATIONS: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(
    EVENT_CHANNELS.map((name) => [
      `send${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      operation('send', name, AS_SUBSCRIBED, { description: DELIVERY }),
    ]),
  ),
  receiveCommand: operation(
    'receive',
    'command',
    { qos: 1, retain: false, bindingVersion: '0.2.0' },
    {
      description:
        'PUBACK comes when the command is stored. Its Reason Code and its Reason String tell a refusal. In MQTT 3.1.1 the `error` event of the device tells it.',
      reply: {
        address: { location: '$message.header#/responseTopic', description: 'The Response Topic of the command.' },
        channel: { $ref: '#/channels/commandAnswer' },
        messages: [{ $ref: '#/channels/commandAnswer/messages/CommandAnswer' }],
      },
    },
  ),
  sendMissed: operation('send', 'missed', AS_SUBSCRIBED),
  sendTokenExpires: operation('send', 'tokenExpires', { qos: 0, bindingVersion: '0.2.0' }),
}
