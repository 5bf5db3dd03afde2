/** The orderly end of a node whose clients go elsewhere first: `fieldgate drain` asks for it. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { isLocalPeer } from '../api/local-peer.ts'
import { GLOBAL_ADMIN } from '../api/access.ts'
import { RequestRefused } from '../api/errors.ts'
import { responses } from '../api/fields.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The node of this process, as far as it can drain. */
export interface Drain {
  /** Begins to drain, and ends the process afterwards. False: it drains already. */
  begin(seconds: number): boolean
  /** The clients that are connected. */
  connections(): number
}

/** The part of the registry that draining needs. */
export type DrainRegistry = Pick<Registry, 'audit'>

/** A load balancer, and the clients of a large node, have gone elsewhere by then. */
const MAXIMUM_SECONDS = 3_600
const DEFAULT_SECONDS = 10

const Draining = Type.Object(
  { connections: Type.Integer({ minimum: 0, description: 'MQTT clients that are still connected.' }) },
  { [NAME]: 'Draining' },
)

/** The route of draining. */
export function drainRoutes(registry: DrainRegistry, drain: Drain): readonly Route[] {
  const begin = route({
    method: 'POST',
    url: '/api/internal/drain',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'drain',
      summary: 'Send the clients of this node away, and end it',
      description:
        'The node takes no new MQTT clients, and says 503 where it is asked whether it is ready. Its clients are told to connect again, spread evenly ' +
        'over the seconds. Then the process ends in order. A repeated request changes nothing: it tells how many clients are left. It is taken only on the ' +
        'machine of the node, because behind a load balancer nobody knows which node answers: use `fieldgate drain`.',
      body: Type.Object({
        seconds: Type.Optional(
          Type.Integer({ minimum: 0, maximum: MAXIMUM_SECONDS, description: `${DEFAULT_SECONDS} without it.` }),
        ),
      }),
      response: responses(Draining),
    },
    handle: async ({ viewer }, request) => {
      if (!isLocalPeer(request)) {
        const message = 'a node drains by a request of its own machine alone: run `fieldgate drain` there'
        throw new RequestRefused('permission_denied', message, 'drain_not_local')
      }
      const seconds = request.body.seconds ?? DEFAULT_SECONDS
      if (drain.begin(seconds)) {
        await registry.audit.record(viewer, {
          action: 'node.drained',
          subject: 'deployment',
          organizationId: null,
          detail: { seconds },
        })
      }
      return { connections: drain.connections() }
    },
  })
  return resource('Operation', [begin])
}
