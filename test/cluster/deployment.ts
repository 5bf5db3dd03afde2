/** Two organizations of a cluster, with the logins and topics of a load. */
import { Administration } from '../support/administration.ts'
import type { Login } from '../support/wire-client.ts'
import type { ClusterNode } from './cluster-node.ts'

/** The names that an administrator at one node can give. */
const SERIALS = 100_000
const DEVICES = 4
const COMMANDED_DEVICES = 2

/** An application with devices of its own. */
export interface Place {
  readonly organizationId: string
  readonly applicationId: string
  /** The beginning of all topics of the application. */
  readonly ownTopics: string
  readonly eventFilter: string
  /** The topics of events, one for each device. */
  readonly eventTopics: readonly string[]
  /** May read all events of the application, and send commands. */
  readonly integrator: Login
}

export interface Deployment {
  readonly place: Place
  /** The place of the neighbour, of which nobody of the other place may see anything. */
  readonly neighbour: Place
  /** May publish events of all devices, and takes all commands. */
  readonly networkServer: Login
  /** The topics of commands for devices of the place. */
  readonly commandTopics: readonly string[]
  /** A fresh device of the place, for one scenario. Returns its DevEUI. */
  newDevice(): Promise<string>
  /** An administrator at this node, or at the first one that serves. */
  administration(node?: ClusterNode): Administration
}

/** Sets the deployment up through a running node. `nodes` are all nodes of the cluster. */
export async function furnish(nodes: readonly ClusterNode[]): Promise<Deployment> {
  const administrators = nodes.map((node, number) => new Administration(node, SERIALS * number))
  const administration = (node = nodes.find(({ isRunning, isPaused }) => isRunning && !isPaused)): Administration => {
    const administrator = administrators[node === undefined ? -1 : nodes.indexOf(node)]
    if (administrator === undefined) throw new Error('no node serves')
    return administrator
  }
  const first = administration()
  const place = await furnishPlace(first, DEVICES)
  const neighbour = await furnishPlace(first, 1)
  const commandTopics: string[] = []
  for (let count = 0; count < COMMANDED_DEVICES; count += 1) {
    commandTopics.push(`${place.ownTopics}device/${await first.device(place.applicationId)}/command/down`)
  }
  const { userName, password } = await first.serviceCredential('')
  return {
    place,
    neighbour,
    networkServer: { username: userName, password },
    commandTopics,
    newDevice: () => administration().device(place.applicationId),
    administration,
  }
}

async function furnishPlace(administration: Administration, devices: number): Promise<Place> {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const ownTopics = `application/${applicationId}/`
  const eventTopics: string[] = []
  for (let count = 0; count < devices; count += 1) {
    eventTopics.push(`${ownTopics}device/${await administration.device(applicationId)}/event/up`)
  }
  const { session } = await administration.person([{ organizationId }])
  const token = await administration.brokerToken(session, organizationId, '86400')
  return {
    organizationId,
    applicationId,
    ownTopics,
    eventFilter: `${ownTopics}device/+/event/up`,
    eventTopics,
    integrator: { username: token, password: 'default' },
  }
}
