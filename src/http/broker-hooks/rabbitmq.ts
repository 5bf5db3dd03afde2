/**
 * The questions of RabbitMQ's `rabbitmq_auth_backend_http`, for clients of its MQTT plugin. It
 * sends forms, and reads the words `allow` and `deny`. Any other answer is a fault to it.
 */
import { Type } from 'typebox'
import type { FastifyReply } from 'fastify'
import { BROKER_HOOK } from '../api/access.ts'
import { text, textAnswer } from '../api/fields.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import type { ForeignBrokers, ForeignClient, Verdict } from './foreign-brokers.ts'
import { clientOf, mqttText, noteRefusal, OrganizationQuery, QUESTION_LIMIT_BYTES, UserName } from './questions.ts'

const RabbitQuery = Type.Object({
  ...OrganizationQuery,
  vhost: Type.Optional(text(255, 'The virtual host of the MQTT plugin; "/" without it.')),
  exchange: Type.Optional(text(255, 'The exchange of the MQTT plugin; "amq.topic" without it.')),
})

const COMMON = {
  consumes: ['application/x-www-form-urlencoded'],
  querystring: RabbitQuery,
  response: textAnswer('text/plain', 'allow or deny'),
}

const NOT_OF_MQTT: Verdict = {
  allowed: false,
  code: 'hook_resource_not_granted',
  reason: 'no thing that a client of MQTT needs',
}

/** The routes that RabbitMQ asks, for a scope that takes forms. */
export function rabbitmqRoutes(judge: ForeignBrokers): readonly Route[] {
  return resource('Broker hooks', [userRoute(judge), vhostRoute(judge), resourceRoute(judge), topicRoute(judge)])
}

function userRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/rabbitmq/user',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      ...COMMON,
      operationId: 'askRabbitUser',
      summary: 'May a client of RabbitMQ log in',
      description: 'For `auth_http.user_path`. The answer names no tags, so no client may use the management.',
      body: Type.Object(
        {
          username: UserName,
          password: Type.Optional(mqttText('The word `default`, or the password of a service credential.')),
          client_id: Type.Optional(mqttText('Client Identifier; only clients of MQTT have one.')),
        },
        { [NAME]: 'RabbitUser' },
      ),
    },
    handle: async (_broker, request, reply) => {
      const { username, password = '', client_id: clientId } = request.body
      const verdict = await judge.mayConnect(clientOf(username, request.query), { password, clientId })
      return inAWord(reply, noteRefusal(request, verdict.allowed ? { allowed: true } : verdict))
    },
  })
}

function vhostRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/rabbitmq/vhost',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      ...COMMON,
      operationId: 'askRabbitVhost',
      summary: 'May a client of RabbitMQ use a virtual host',
      description: 'For `auth_http.vhost_path`. A client may use the virtual host of the MQTT plugin alone.',
      body: Type.Object({ username: UserName, vhost: mqttText('Virtual host.') }, { [NAME]: 'RabbitVhost' }),
    },
    handle: async (_broker, request, reply) => {
      const { username, vhost } = request.body
      const isMeant = vhost === (request.query.vhost ?? '/')
      const verdict = isMeant ? await judge.isAdmitted(clientOf(username, request.query)) : NOT_OF_MQTT
      return inAWord(reply, noteRefusal(request, verdict))
    },
  })
}

function resourceRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/rabbitmq/resource',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      ...COMMON,
      operationId: 'askRabbitResource',
      summary: 'May a client of RabbitMQ use a queue or an exchange',
      description:
        'For `auth_http.resource_path`. A client may use the queues of its own Client Identifiers, and the exchange of the ' +
        'MQTT plugin.',
      body: Type.Object(
        {
          username: UserName,
          vhost: mqttText('Virtual host.'),
          resource: mqttText('queue or exchange.'),
          name: mqttText('Name of the queue or exchange.'),
          permission: mqttText('configure, read or write.'),
        },
        { [NAME]: 'RabbitResource' },
      ),
    },
    handle: async (_broker, request, reply) => {
      const verdict = await resourceVerdict(judge, clientOf(request.body.username, request.query), {
        ...request.body,
        ...placesOf(request.query),
      })
      return inAWord(reply, noteRefusal(request, verdict))
    },
  })
}

function topicRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/rabbitmq/topic',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      ...COMMON,
      operationId: 'askRabbitTopic',
      summary: 'May a client of RabbitMQ publish or subscribe',
      description:
        'For `auth_http.topic_path`. RabbitMQ does not ask at a delivery: a Topic Filter that is wider than the client’s ' +
        'right is refused.',
      body: Type.Object(
        {
          username: UserName,
          vhost: mqttText('Virtual host.'),
          name: mqttText('Name of the exchange.'),
          permission: mqttText('read or write.'),
          routing_key: mqttText('The topic in the form of AMQP: `application.1.device.*.event.up`.'),
        },
        { [NAME]: 'RabbitTopic' },
      ),
    },
    handle: async (_broker, request, reply) => {
      const { username, vhost, name, permission, routing_key: routingKey } = request.body
      const places = placesOf(request.query)
      const topic = vhost === places.onlyVhost && name === places.onlyExchange ? topicOf(routingKey) : undefined
      const client = clientOf(username, request.query)
      const verdict =
        topic === undefined
          ? NOT_OF_MQTT
          : await (permission === 'write' ? judge.mayPublish(client, topic) : judge.maySubscribe(client, topic, false))
      return inAWord(reply, noteRefusal(request, verdict))
    },
  })
}

/** The places that the MQTT plugin of the asking broker uses. */
function placesOf({ vhost, exchange }: { readonly vhost?: string; readonly exchange?: string }) {
  return { onlyVhost: vhost ?? '/', onlyExchange: exchange ?? 'amq.topic' }
}

/** The queues that RabbitMQ makes for a Client Identifier, of versions 3.10 to 4. */
const QUEUE_OF_CLIENT = /^mqtt-(?:subscription-(.*)qos[01]|will-(.*))$/s

/**
 * A queue belongs to whoever may use its Client Identifier: a reader of another's queue would take
 * messages that were kept for the other.
 */
async function resourceVerdict(
  judge: ForeignBrokers,
  client: ForeignClient,
  asked: {
    readonly vhost: string
    readonly resource: string
    readonly name: string
    readonly permission: string
    readonly onlyVhost: string
    readonly onlyExchange: string
  },
): Promise<Verdict> {
  if (asked.vhost !== asked.onlyVhost) return NOT_OF_MQTT
  if (asked.resource === 'queue') {
    const [, ofSubscriptions, ofWill] = QUEUE_OF_CLIENT.exec(asked.name) ?? []
    const clientId = ofSubscriptions ?? ofWill
    return clientId === undefined ? NOT_OF_MQTT : judge.mayUseClientId(client, clientId)
  }
  const isOfMqtt =
    asked.resource === 'exchange' && asked.name === asked.onlyExchange && asked.permission !== 'configure'
  return isOfMqtt ? judge.isAdmitted(client) : NOT_OF_MQTT
}

/**
 * The topic of a routing key. RabbitMQ writes `.` for `/`, and `*` for `+`. A key with a `/` or a
 * `+` comes from no client of MQTT.
 */
function topicOf(routingKey: string): string | undefined {
  if (/[/+]/.test(routingKey)) return undefined
  return routingKey.replaceAll('.', '/').replaceAll('*', '+')
}

function inAWord(reply: Pick<FastifyReply, 'type'>, isAllowed: boolean) {
  return reply.type('text/plain').send(isAllowed ? 'allow' : 'deny')
}
