/**
 * The questions of EMQX 5, by its HTTP authenticator and its HTTP authorizer. EMQX ignores an
 * answer that is no 200, so that a refusal is a 200 with the word `deny`.
 */
import { Type } from 'typebox'
import { BROKER_HOOK } from '../api/access.ts'
import { choice, responses } from '../api/fields.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import type { ForeignBrokers } from './foreign-brokers.ts'
import {
  clientOf,
  mqttText,
  noteRefusal,
  OrganizationQuery,
  QUESTION_LIMIT_BYTES,
  UserName,
  Word,
} from './questions.ts'

const Authentication = Type.Object(
  {
    result: Word,
    is_superuser: Type.Boolean({ description: 'Always false.' }),
    expire_at: Type.Optional(
      Type.Integer({ description: 'The end of the token, seconds since 1970: EMQX 5.8 ends the connection then.' }),
    ),
  },
  { description: 'Answer to EMQX about a CONNECT', [NAME]: 'EmqxAuthentication' },
)

const Authorization = Type.Object(
  { result: Word },
  { description: 'Answer to EMQX about a topic', [NAME]: 'EmqxAuthorization' },
)

/** The routes that EMQX asks. */
export function emqxRoutes(judge: ForeignBrokers): readonly Route[] {
  return resource('Broker hooks', [authenticationRoute(judge), authorizationRoute(judge)])
}

function authenticationRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/emqx/authn',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      operationId: 'askEmqxAuthentication',
      summary: 'May a client of EMQX connect',
      description: 'For the HTTP authenticator of EMQX 5. The answer has the end of the token.',
      querystring: Type.Object(OrganizationQuery),
      body: Type.Object(
        {
          username: UserName,
          password: mqttText('The word `default`, or the password of a service credential.'),
          clientid: mqttText('Client Identifier.'),
        },
        { [NAME]: 'EmqxClient' },
      ),
      response: responses(Authentication),
    },
    handle: async (_broker, request) => {
      const { username, password, clientid: clientId } = request.body
      const verdict = await judge.mayConnect(clientOf(username, request.query), { password, clientId })
      if (!verdict.allowed) {
        noteRefusal(request, verdict)
        return { result: 'deny' as const, is_superuser: false }
      }
      const admitted = { result: 'allow' as const, is_superuser: false }
      const { expiresAtMs } = verdict
      return expiresAtMs === undefined ? admitted : { ...admitted, expire_at: Math.floor(expiresAtMs / 1000) }
    },
  })
}

function authorizationRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/emqx/authz',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      operationId: 'askEmqxAuthorization',
      summary: 'May a client of EMQX publish or subscribe',
      description:
        'For the HTTP authorizer of EMQX 5. EMQX does not ask at a delivery: a Topic Filter that is wider than the ' +
        'client’s right is refused.',
      querystring: Type.Object(OrganizationQuery),
      body: Type.Object(
        {
          username: UserName,
          action: choice(['publish', 'subscribe'], { [RULE]: 'must be publish or subscribe' }),
          topic: mqttText('Topic Name, or Topic Filter.'),
        },
        { [NAME]: 'EmqxAction' },
      ),
      response: responses(Authorization),
    },
    handle: async (_broker, request) => {
      const { username, action, topic } = request.body
      const client = clientOf(username, request.query)
      const asked = action === 'publish' ? judge.mayPublish(client, topic) : judge.maySubscribe(client, topic, false)
      return { result: noteRefusal(request, await asked) ? ('allow' as const) : ('deny' as const) }
    },
  })
}
