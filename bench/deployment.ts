/**
 * The names of a comparison's devices, applications and users, in the service and in the brokers
 * without any of these.
 */
import type { Client, Credentials } from './load/job.ts'

/** The number of applications; each has the same number of devices. */
export const APPLICATIONS = 1_000
export const DEVICES_OF_AN_APPLICATION = 100
/** The number of organizations; each has the same number of applications, and one user. */
export const ORGANIZATIONS = 10
export const APPLICATIONS_OF_AN_ORGANIZATION = APPLICATIONS / ORGANIZATIONS
/** Tokens for connections that are opened as fast as possible; each connection has its own. */
export const TOKENS = 4_000

/** An application of each organization, with the members with which it is made. */
export interface PlannedApplication {
  readonly name: string
  readonly payloadCodec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  readonly payloadDecoderScript: string
}

/** The applications for the comparison of brokers: nothing is decoded. */
export const PLAIN_APPLICATIONS: readonly PlannedApplication[] = Array.from(
  { length: APPLICATIONS_OF_AN_ORGANIZATION },
  (_, index) => ({ name: `application-${index}`, payloadCodec: '', payloadDecoderScript: '' }),
)

/** The credentials of a deployment. */
export interface Deployment {
  readonly applicationIds: readonly string[]
  /** The credentials of a connection that publishes events. */
  readonly networkServer: Credentials | undefined
  /** The credentials of connections that subscribe to events: one for each organization. */
  readonly integrators: readonly (Credentials | undefined)[]
  /**
   * The credentials of connections that may subscribe to all applications at once: one for each
   * organization.
   */
  readonly readersOfAllApplications: readonly (Credentials | undefined)[]
  /** Broker-access tokens, all different. */
  readonly tokens: readonly Credentials[]
}

/**
 * The deployment of a broker that asks for no credentials. If the scenario wants it, connections
 * send tokens of the usual length all the same.
 */
export function anonymousDeployment(): Deployment {
  return {
    applicationIds: Array.from({ length: APPLICATIONS }, (_, index) => String(index + 1)),
    networkServer: undefined,
    integrators: Array.from({ length: ORGANIZATIONS }, () => undefined),
    readersOfAllApplications: Array.from({ length: ORGANIZATIONS }, () => undefined),
    tokens: Array.from({ length: TOKENS }, (_, index) => ({
      userName: `eyJ${String(index).padStart(TOKEN_CHARACTERS - 3, 'x')}`,
      password: 'default',
    })),
  }
}

/** The length of a broker-access token of the service, approximately. */
const TOKEN_CHARACTERS = 450

/** The DevEUI of a device, by its application's number and its own number in the application. */
export function devEuiOf(application: number, device: number): string {
  return (application * DEVICES_OF_AN_APPLICATION + device + 1).toString(16).padStart(16, '0')
}

/** The topic of a device's uplinks. */
export function eventTopic(deployment: Deployment, application: number, device: number): string {
  return `application/${applicationId(deployment, application)}/device/${devEuiOf(application, device)}/event/up`
}

/** The Topic Filter of all uplinks of an application. */
export function applicationTopicFilter(deployment: Deployment, application: number): string {
  return `application/${applicationId(deployment, application)}/device/+/event/up`
}

/** The login of a connection that publishes. */
export function networkServer(deployment: Deployment): Client {
  return { credentials: deployment.networkServer }
}

/** The login of a connection that may subscribe to this application's events. */
export function integrator(deployment: Deployment, application: number): Client {
  return { credentials: deployment.integrators[Math.floor(application / APPLICATIONS_OF_AN_ORGANIZATION)] }
}

/** The Topic Filter of the uplinks of all applications that a connection may read. */
export const ALL_APPLICATIONS_TOPIC_FILTER = 'application/+/device/+/event/up'

/** The login of a connection that may subscribe to all applications of the application's owner. */
export function readerOfAllApplications(deployment: Deployment, application: number): Client {
  const organization = Math.floor(application / APPLICATIONS_OF_AN_ORGANIZATION)
  return { credentials: deployment.readersOfAllApplications[organization] }
}

function applicationId(deployment: Deployment, application: number): string {
  return deployment.applicationIds[application] as string
}
