/** The deployment of the access matrix, and every credential with which somebody could come. */
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { Secret, TOTP } from 'otpauth'
import type { Standing } from './access-matrix-oracle.ts'
import type { Places } from './access-matrix-topics.ts'
import { Administration, PASSWORD } from './administration.ts'
import type { ServiceCredential } from './administration.ts'
import { textIn } from './https-client.ts'
import type { RunningService } from './running-service.ts'
import { WireClient } from './wire-client.ts'
import type { Login } from './wire-client.ts'

/** The kind of a bearer token, as the HTTP interface sees it. */
export type Bearer =
  | { readonly kind: 'none in force' }
  | { readonly kind: 'session'; readonly sees: readonly ('A' | 'B')[] }
  | { readonly kind: 'broker access'; readonly organization: 'A' | 'B' }
  /** A broker-access token whose user has left the organization. */
  | { readonly kind: 'former broker access' }

export interface Credential {
  readonly name: string
  readonly login: Login
  readonly standing: Standing
  /** The value sent to the HTTP interface; undefined: no header at all. */
  readonly token: string | undefined
  readonly bearer: Bearer
}

export interface MatrixDeployment {
  readonly places: Places
  readonly organizationA: string
  readonly organizationB: string
  readonly credentials: readonly Credential[]
}

const BAD: Standing = { kind: 'refused', because: 'credential' }
const NO_RIGHTS: Standing = { kind: 'refused', because: 'rights' }
const NONE: Bearer = { kind: 'none in force' }

/** Sets it up only through the HTTP interface. */
export async function createMatrixDeployment(service: RunningService): Promise<MatrixDeployment> {
  const administration = new Administration(service)
  const organizationA = await administration.organization()
  const organizationB = await administration.organization()
  const places = await createPlaces(administration, organizationA, organizationB)
  const memberA = await administration.person([{ organizationId: organizationA }])
  const adminA = await administration.person([{ organizationId: organizationA, isAdmin: true }])
  const memberB = await administration.person([{ organizationId: organizationB }])
  const tokenOf = (jwt: string, organizationId: string) => administration.brokerToken(jwt, organizationId)
  const ofMemberA = await tokenOf(memberA.session, organizationA)
  const ofAdminA = await tokenOf(adminA.session, organizationA)
  const ofMemberB = await tokenOf(memberB.session, organizationB)
  const ofGlobalAdmin = await tokenOf(service.adminSession, organizationA)
  const everywhere = await administration.serviceCredential('')
  const serverA = await administration.serviceCredential(organizationA)
  const serverB = await administration.serviceCredential(organizationB)

  return {
    places,
    organizationA,
    organizationB,
    credentials: [
      integrator('the token of a member of A', ofMemberA, 'A'),
      integrator('the token of an admin of A', ofAdminA, 'A'),
      integrator('the token of a member of B', ofMemberB, 'B'),
      integrator('the token of a global admin for A', ofGlobalAdmin, 'A'),
      networkServer('the service credential of the deployment', everywhere, 'all'),
      networkServer('the service credential of A', serverA, 'A'),
      networkServer('the service credential of B', serverB, 'B'),
      session('the session of a member of A', memberA.session, ['A']),
      session('the session of an admin of A', adminA.session, ['A']),
      session('the session of a member of B', memberB.session, ['B']),
      session('the session of a global admin', service.adminSession, ['A', 'B']),
      ...(await voidCredentials(service, administration, organizationA, ofMemberA)),
      badLogin('a good token with a wrong password', { username: ofMemberA, password: 'Default' }),
      badLogin('a good token with a password that goes on after a NUL', { username: ofMemberA, password: 'default\0' }),
      badLogin('a good token with an empty password', { username: ofMemberA, password: '' }),
      badLogin('a good token without a password', { username: ofMemberA }),
      badLogin('a service credential with the word default', { username: everywhere.userName, password: 'default' }),
      badLogin('a service credential with the password of another', {
        username: serverA.userName,
        password: serverB.password,
      }),
      badLogin('a service credential whose password goes on after a NUL', {
        username: serverA.userName,
        password: `${serverA.password}\0`,
      }),
    ],
  }
}

function integrator(name: string, jwt: string, organization: 'A' | 'B'): Credential {
  return {
    name,
    login: { username: jwt, password: 'default' },
    standing: { kind: 'integrator', organization },
    token: jwt,
    bearer: { kind: 'broker access', organization },
  }
}

function networkServer(name: string, given: ServiceCredential, organization: 'A' | 'B' | 'all'): Credential {
  const { userName: username, password } = given
  const standing = { kind: 'network server', organization } as const
  return { name, login: { username, password }, standing, token: password, bearer: NONE }
}

function session(name: string, jwt: string, sees: readonly ('A' | 'B')[]): Credential {
  const login = { username: jwt, password: 'default' }
  return { name, login, standing: BAD, token: jwt, bearer: { kind: 'session', sees } }
}

/** Only for the broker: the HTTP interface accepts no password beside a token. */
function badLogin(name: string, login: Login): Credential {
  return { name, login, standing: BAD, token: undefined, bearer: NONE }
}

/** A token that nobody may accept, in place of either kind. */
function voidToken(name: string, jwt: string): Credential {
  return { ...session(name, jwt, []), bearer: NONE }
}

async function createPlaces(
  administration: Administration,
  organizationA: string,
  organizationB: string,
): Promise<Places> {
  const applicationA = await administration.application(organizationA)
  const otherApplicationA = await administration.application(organizationA)
  const applicationB = await administration.application(organizationB)
  const disabledDeviceA = await administration.device(applicationA)
  await administration.must('PUT', `/api/devices/${disabledDeviceA}`, { device: { isDisabled: true } })
  return {
    applicationA,
    otherApplicationA,
    applicationB,
    deviceA: await administration.device(applicationA),
    otherDeviceA: await administration.device(otherApplicationA),
    deviceB: await administration.device(applicationB),
    disabledDeviceA,
  }
}

/** Credentials that are malformed, that never existed, or that have ended. */
async function voidCredentials(
  service: RunningService,
  administration: Administration,
  organizationId: string,
  goodToken: string,
): Promise<Credential[]> {
  const withToken = async () => {
    const person = await administration.person([{ organizationId }])
    return { ...person, token: await administration.brokerToken(person.session, organizationId) }
  }
  const revoked = await withToken()
  await administration.revokeToken(revoked.token)
  const former = await withToken()
  await administration.must('DELETE', `/api/organizations/${organizationId}/users/${former.id}`)
  const inactive = await withToken()
  await administration.must('PUT', `/api/users/${inactive.id}`, { user: { isActive: false } })
  const revokedServer = await administration.serviceCredential('')
  await administration.must('DELETE', `/api/service-credentials/${revokedServer.id}`)
  const [header = '', claims = '', signature = ''] = goodToken.split('.')
  return [
    { name: 'nothing at all', login: {}, standing: BAD, token: undefined, bearer: NONE },
    voidToken('garbage', 'not.a.token'),
    voidToken('an empty user name', ''),
    voidToken('a control character before a good token', `\u0001${goodToken}`),
    voidToken('a token without a signature', `${header}.${claims}.`),
    voidToken('a token by the algorithm none', `${encoded({ alg: 'none', typ: 'JWT' })}.${claims}.`),
    voidToken('a token with a changed signature', `${header}.${claims}.${signature.slice(0, -6)}AAAAAA`),
    voidToken('a token that somebody else signed', await signedBySomebodyElse(goodToken)),
    voidToken('an expired token', await expiredToken(service, administration, organizationId)),
    voidToken('a revoked token', revoked.token),
    {
      ...voidToken('the token of a former member', former.token),
      standing: NO_RIGHTS,
      bearer: { kind: 'former broker access' },
    },
    voidToken('the token of a user who is no longer active', inactive.token),
    voidToken('the session of a user who is no longer active', inactive.session),
    voidToken(
      'the token between the two steps of a login',
      await secondFactorToken(service, administration, organizationId),
    ),
    {
      name: 'a revoked service credential',
      login: { username: revokedServer.userName, password: revokedServer.password },
      standing: BAD,
      token: revokedServer.password,
      bearer: NONE,
    },
  ]
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/**
 * A token with all claims and the key id of a good token, signed by another key of the same kind.
 */
async function signedBySomebodyElse(jwt: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const { kid = '', typ = '' } = decodeProtectedHeader(jwt)
  return new SignJWT(decodeJwt(jwt)).setProtectedHeader({ alg: 'ES256', kid, typ }).sign(privateKey)
}

/** A token that has just expired, by the broker's own answer. */
async function expiredToken(
  service: RunningService,
  administration: Administration,
  organizationId: string,
): Promise<string> {
  const person = await administration.person([{ organizationId }])
  const jwt = await administration.brokerToken(person.session, organizationId, '1')
  using client = await WireClient.open(service, 5)
  await client.connect({ username: jwt, password: 'default' })
  await client.rest()
  return jwt
}

async function secondFactorToken(
  service: RunningService,
  administration: Administration,
  organizationId: string,
): Promise<string> {
  const person = await administration.person([{ organizationId }])
  const { http } = service
  const path = '/api/internal/totp'
  const configured = await http.must('POST', `${path}-configuration`, { token: person.session, json: {} })
  const code = new TOTP({ secret: Secret.fromBase32(textIn(configured, 'secret')) }).generate()
  await http.must('POST', `${path}-enable`, { token: person.session, headers: { 'grpc-metadata-x-otp': code } })
  const login = await http.must('POST', '/api/internal/login', {
    json: { username: person.userName, password: PASSWORD },
  })
  return textIn(login, 'jwt')
}
