/**
 * What a comparison's devices, applications and users are called, in the service and in the brokers
 * without any.
 */
import type { Client, Credentials } from './load/job.ts'

/** Applications, with as many devices each. */
export const APPLICATIONS = 1_000
export const DEVICES_OF_AN_APPLICATION = 100
/** Organizations, with as many applications each; each has one user. */
export const ORGANIZATIONS = 10
export const APPLICATIONS_OF_AN_ORGANIZATION = APPLICATIONS / ORGANIZATIONS
/** Tokens of their own for connections that come as fast as they can. */
export const TOKENS = 2_000

/** An application of each organization, as it is made. */
export interface PlannedApplication {
  readonly name: string
  readonly payloadCodec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  readonly payloadDecoderScript: string
}

/** Of the comparison of brokers: nothing is decoded. */
export const PLAIN_APPLICATIONS: readonly PlannedApplication[] = Array.from(
  { length: APPLICATIONS_OF_AN_ORGANIZATION },
  (_, index) => ({ name: `application-${index}`, payloadCodec: '', payloadDecoderScript: '' }),
)

/** Who may do what. */
export interface Deployment {
  readonly applicationIds: readonly string[]
  /** For a connection that publishes events. */
  readonly networkServer: Credentials | undefined
  /** For connections that subscribe to events: one of each organization. */
  readonly integrators: readonly (Credentials | undefined)[]
  /** Broker-access tokens, each another one. */
  readonly tokens: readonly Credentials[]
}

/**
 * For brokers that ask for nothing. Their connections bring tokens of the usual length all the same
 * where the scenario says so.
 */
export function anonymousDeployment(): Deployment {
  return {
    applicationIds: Array.from({ length: APPLICATIONS }, (_, index) => String(index + 1)),
    networkServer: undefined,
    integrators: Array.from({ length: ORGANIZATIONS }, () => undefined),
    tokens: Array.from({ length: TOKENS }, (_, index) => ({
      userName: `eyJ${String(index).padStart(TOKEN_CHARACTERS - 3, 'x')}`,
      password: 'default',
    })),
  }
}

/** A broker-access token of the service has about as many. */
const TOKEN_CHARACTERS = 450

/** The DevEUI of a device, by its application's place and its own in the application. */
export function devEuiOf(application: number, device: number): string {
  return (application * DEVICES_OF_AN_APPLICATION + device + 1).toString(16).padStart(16, '0')
}

/** The topic of a device's uplinks. */
export function eventTopic(deployment: Deployment, application: number, device: number): string {
  return `application/${applicationId(deployment, application)}/device/${devEuiOf(application, device)}/event/up`
}

/** All uplinks of an application. */
export function applicationTopicFilter(deployment: Deployment, application: number): string {
  return `application/${applicationId(deployment, application)}/device/+/event/up`
}

/** A connection that publishes. */
export function networkServer(deployment: Deployment): Client {
  return { credentials: deployment.networkServer }
}

/** A connection that may subscribe to that application's events. */
export function integrator(deployment: Deployment, application: number): Client {
  return { credentials: deployment.integrators[Math.floor(application / APPLICATIONS_OF_AN_ORGANIZATION)] }
}

function applicationId(deployment: Deployment, application: number): string {
  return deployment.applicationIds[application] as string
}
