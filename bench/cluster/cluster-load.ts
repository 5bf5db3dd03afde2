/** The devices, logins and jobs of the load on a cluster. */
import { Administration } from '../../test/support/administration.ts'
import { HttpsClient, textIn } from '../../test/support/https-client.ts'
import { ADMIN_PASSWORD } from '../../test/support/running-service.ts'
import type { Client, FlowJob, Stream } from '../load/job.ts'
import type { MeasuredNode } from './cluster-service.ts'

const APPLICATIONS_OF_A_NODE = 12
const DEVICES = 4
const PUBLISHERS_OF_A_NODE = 4
const TOKEN_SECONDS = '86400'

/** An application, with the topics of its devices. */
interface LoadedApplication {
  readonly topicFilter: string
  readonly topicNames: readonly string[]
}

export interface ClusterLoad {
  readonly networkServer: Client
  readonly integrator: Client
  readonly applications: readonly LoadedApplication[]
}

/** Makes an organization with applications and devices through a node. */
export async function prepareLoad({ https, certificate }: MeasuredNode, nodes: number): Promise<ClusterLoad> {
  const http = new HttpsClient(https, certificate)
  try {
    const json = { username: 'admin', password: ADMIN_PASSWORD }
    const adminSession = textIn(await http.must('POST', '/api/internal/login', { json }), 'jwt')
    const administration = new Administration({ http, adminSession })
    const organizationId = await administration.organization()
    const applications: LoadedApplication[] = []
    for (let count = 0; count < nodes * APPLICATIONS_OF_A_NODE; count += 1) {
      const start = `application/${await administration.application(organizationId)}/device/`
      const topicNames: string[] = []
      while (topicNames.length < DEVICES) {
        topicNames.push(`${start}${await administration.device(start.split('/')[1] as string)}/event/up`)
      }
      applications.push({ topicFilter: `${start}+/event/up`, topicNames })
    }
    const { userName, password } = await administration.serviceCredential('')
    const { session } = await administration.person([{ organizationId }])
    const token = await administration.brokerToken(session, organizationId, TOKEN_SECONDS)
    return {
      networkServer: { credentials: { userName, password } },
      integrator: { credentials: { userName: token, password: 'default' } },
      applications,
    }
  } finally {
    http.close()
  }
}

export interface LoadShape {
  readonly nodes: number
  /** Messages a second over all nodes; undefined: as fast as the windows allow. */
  readonly perSecond: number | undefined
  /** Unacknowledged or undelivered messages of a publisher. */
  readonly window: number
  /** True: the reader at each node reads everything; else each has its share. */
  readonly isReadByAll: boolean
  readonly warmUpMs: number
  readonly measureMs: number
}

/**
 * Publishers at each node send events of all applications. A reader at each node has a Session that
 * stays, and reads the events of its share of the applications, or all.
 */
export function jobOf({ networkServer, integrator, applications }: ClusterLoad, shape: LoadShape): FlowJob {
  const { nodes, perSecond, window, isReadByAll, warmUpMs, measureMs } = shape
  const places = Array.from({ length: nodes }, (_, target) => target)
  const readersOf = (application: number): readonly number[] => (isReadByAll ? places : [application % nodes])
  const publishers = places.flatMap((target) =>
    Array.from({ length: PUBLISHERS_OF_A_NODE }, (): Client => ({ credentials: networkServer.credentials, target })),
  )
  return {
    kind: 'flow',
    qos: 1,
    publishers,
    receivers: places.map((target) => ({
      credentials: integrator.credentials,
      target,
      keepsSession: true,
      topicFilters: applications
        .filter((_, application) => readersOf(application).includes(target))
        .map(({ topicFilter }) => topicFilter),
    })),
    // A stream has one application, because the order holds within each topic's log.
    streams: publishers.flatMap((_, publisher) =>
      applications.map(({ topicNames }, application): Stream => {
        return { publisher, receivers: readersOf(application), topicNames }
      }),
    ),
    bystanders: undefined,
    hasSeveralLogs: true,
    pace: { window, perSecond },
    warmUpMs,
    warmUpMessages: 0,
    measureMs,
    latencyMs: 0,
  }
}
