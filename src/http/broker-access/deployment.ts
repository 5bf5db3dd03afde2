/**
 * The facts that a client needs to connect to this deployment: the broker's address, the life of
 * tokens, the authority to trust.
 */
import { Type } from 'typebox'
import { objectNotFound } from '../api/errors.ts'
import { responses, textAnswer } from '../api/fields.ts'
import { OPEN, SIGNED_IN_OR_KEY } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { BrokerTokenSettings } from './mosquitto-auth.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The facts that the service knows of itself when it listens. */
export interface DeploymentView {
  /** The address at which clients reach the broker over TLS. */
  mqtts(): { readonly host: string; readonly port: number }
  /**
   * PEM of the certificate authority that the service made for itself; undefined where a
   * certificate is configured.
   */
  readonly certificateAuthority: string | undefined
}

const Deployment = Type.Object(
  {
    mqttsHost: Type.String({ description: 'Host of MQTT over TLS.' }),
    mqttsPort: Type.Integer({ description: 'Port of MQTT over TLS.' }),
    brokerTokenDefaultTtlSeconds: Type.Integer({ description: 'Life of a token whose request names none.' }),
    brokerTokenMaximumTtlSeconds: Type.Integer({ description: 'The longest life that a request may name.' }),
    hasOwnAuthority: Type.Boolean({
      description: 'Whether clients must be given the certificate of /api/internal/ca.pem.',
    }),
  },
  { description: 'Deployment', [NAME]: 'Deployment' },
)

/** Where to connect, and the certificate authority to trust. */
export function deploymentRoutes(view: DeploymentView, settings: BrokerTokenSettings): readonly Route[] {
  return resource('Broker access', [getDeployment(view, settings), getAuthority(view)])
}

function getDeployment(view: DeploymentView, settings: BrokerTokenSettings): Route {
  return route({
    method: 'GET',
    url: '/api/internal/deployment',
    may: SIGNED_IN_OR_KEY,
    schema: {
      operationId: 'getDeployment',
      summary: 'Where to connect',
      description:
        'The broker’s address, the bounds on the life of tokens, and whether the service is its own authority.',
      response: responses(Deployment),
    },
    handle: async (_person) => {
      const { host, port } = view.mqtts()
      return {
        mqttsHost: host,
        mqttsPort: port,
        brokerTokenDefaultTtlSeconds: settings.brokerTokenDefaultTtlSeconds,
        brokerTokenMaximumTtlSeconds: settings.brokerTokenMaximumTtlSeconds,
        hasOwnAuthority: view.certificateAuthority !== undefined,
      }
    },
  })
}

function getAuthority(view: DeploymentView): Route {
  return route({
    method: 'GET',
    url: '/api/internal/ca.pem',
    may: OPEN,
    schema: {
      operationId: 'getCertificateAuthority',
      summary: 'The certificate authority to trust',
      description:
        'The certificate of the authority that the service made for itself, in PEM; 404 where the deployment configured a ' +
        'certificate of another one. It is public: it proves others, and opens nothing.',
      response: textAnswer('application/x-pem-file', 'The certificate in PEM.'),
    },
    handle: async (_nobody, _request, reply) => {
      if (view.certificateAuthority === undefined) throw objectNotFound()
      return reply
        .type('application/x-pem-file')
        .header('content-disposition', 'attachment; filename="fieldgate-ca.pem"')
        .send(view.certificateAuthority)
    },
  })
}
