/**
 * The questions of mosquitto-go-auth, by its HTTP backend. It takes any status of 200 for consent
 * unless it is told to read the body, so that a refusal is a 403.
 */
import { Type } from 'typebox'
import { BROKER_HOOK } from '../api/access.ts'
import { RequestRefused } from '../api/errors.ts'
import { responses } from '../api/fields.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import type { ForeignBrokers, Verdict } from './foreign-brokers.ts'
import { clientOf, mqttText, noteRefusal, OrganizationQuery, QUESTION_LIMIT_BYTES, UserName } from './questions.ts'

/** `acc` of mosquitto's plugin interface: `MOSQ_ACL_*` in mosquitto_broker.h. */
const ACCESS = { read: 1, write: 2, readAndWrite: 3, subscribe: 4, unsubscribe: 8 } as const

const Granted = Type.Object(
  { ok: Type.Boolean(), error: Type.String({ description: 'Always "": a refusal is a 403.' }) },
  { description: 'The client may', [NAME]: 'MosquittoAnswer' },
)

/** The routes that mosquitto-go-auth asks. */
export function mosquittoRoutes(judge: ForeignBrokers): readonly Route[] {
  return resource('Broker hooks', [userRoute(judge), aclRoute(judge), superuserRoute()])
}

function userRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/mosquitto/user',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      operationId: 'askMosquittoUser',
      summary: 'May a client of mosquitto connect',
      description: 'For `auth_opt_http_getuser_uri` of mosquitto-go-auth. 403 with the reason where it may not.',
      querystring: Type.Object(OrganizationQuery),
      body: Type.Object(
        {
          username: UserName,
          password: mqttText('The word `default`, or the password of a service credential.'),
          clientid: mqttText('Client Identifier.'),
        },
        { [NAME]: 'MosquittoUser' },
      ),
      response: responses(Granted),
    },
    handle: async (_broker, request) => {
      const { username, password, clientid: clientId } = request.body
      const verdict = await judge.mayConnect(clientOf(username, request.query), { password, clientId })
      return answered(request, verdict.allowed ? { allowed: true } : verdict)
    },
  })
}

function aclRoute(judge: ForeignBrokers): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/mosquitto/acl',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      operationId: 'askMosquittoAcl',
      summary: 'May a client of mosquitto publish, subscribe or receive',
      description:
        'For `auth_opt_http_aclcheck_uri` of mosquitto-go-auth. mosquitto asks at each SUBSCRIBE, each PUBLISH and each ' +
        'delivery. 403 with the reason where the client may not.',
      querystring: Type.Object(OrganizationQuery),
      body: Type.Object(
        {
          username: UserName,
          clientid: mqttText('Client Identifier.'),
          topic: mqttText('Topic Name; Topic Filter for acc 4 and 8.'),
          acc: Type.Integer({
            minimum: 1,
            maximum: 15,
            description: '1 receive, 2 publish, 3 both, 4 subscribe, 8 unsubscribe.',
            [RULE]: 'must be 1, 2, 3, 4 or 8',
          }),
        },
        { [NAME]: 'MosquittoAccess' },
      ),
      response: responses(Granted),
    },
    handle: async (_broker, request) => {
      const { username, topic, acc } = request.body
      return answered(request, await judged(judge, clientOf(username, request.query), topic, acc))
    },
  })
}

async function judged(
  judge: ForeignBrokers,
  client: ReturnType<typeof clientOf>,
  topic: string,
  access: number,
): Promise<Verdict> {
  switch (access) {
    case ACCESS.read:
      return judge.mayReceive(client, topic)
    case ACCESS.write:
      return judge.mayPublish(client, topic)
    case ACCESS.readAndWrite: {
      const verdict = await judge.mayReceive(client, topic)
      return verdict.allowed ? judge.mayPublish(client, topic) : verdict
    }
    case ACCESS.subscribe:
      return judge.maySubscribe(client, topic, true)
    case ACCESS.unsubscribe:
      return judge.isAdmitted(client)
    default:
      return { allowed: false, code: 'hook_topic_invalid', reason: 'an unknown access' }
  }
}

function superuserRoute(): Route {
  return route({
    method: 'POST',
    url: '/api/broker-hooks/mosquitto/superuser',
    may: BROKER_HOOK,
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      operationId: 'askMosquittoSuperuser',
      summary: 'Is a client of mosquitto above all rules',
      description: 'For `auth_opt_http_superuser_uri` of mosquitto-go-auth. No client is: the answer is 403.',
      body: Type.Object({ username: UserName }, { [NAME]: 'MosquittoSuperuser' }),
      response: responses(Granted),
    },
    handle: async (_broker, request) =>
      answered(request, { allowed: false, code: 'hook_no_superuser', reason: 'no client is above the rules' }),
  })
}

function answered(request: Parameters<typeof noteRefusal>[0], verdict: Verdict) {
  noteRefusal(request, verdict)
  if (verdict.allowed) return { ok: true, error: '' }
  throw new RequestRefused('permission_denied', `${verdict.reason} (${verdict.code})`, 'broker_hook_denied')
}
