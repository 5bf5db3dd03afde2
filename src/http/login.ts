/** Logging in, with the second factor where it is on, and what a signed-in person may do about the own account. */
import { Type } from 'typebox'
import type { Registry } from '../identity/registry.ts'
import { accepted, invalidArgument, objectNotFound, RequestRefused } from './errors.ts'
import { viewerOf } from './authenticate.ts'
import { Empty, flag, responses, text, timestamp, Timestamp } from './fields.ts'
import type { HttpApp } from './http-app.ts'
import { SESSION_SECURITY } from './openapi.ts'

/** The parts of the registry that logging in needs. */
export type LoginRegistry = Pick<Registry, 'passwords' | 'secondFactor' | 'tokens' | 'users' | 'members'>

const LoginResult = Type.Object(
  {
    jwt: Type.String({ description: 'Session JWT; with is2faRequired, a JWT for login-2fa alone that lives 600 s.' }),
    is2faRequired: Type.Boolean({ description: 'Whether a second factor is required.' }),
  },
  { description: 'Login result' },
)

/** No password is longer; the bound keeps megabytes out of the hash. */
const Password = text(1024, 'Password.')

/** Endpoint 1 of the specification, and the second step of a login. */
export function addLoginRoutes(app: HttpApp, registry: LoginRegistry): void {
  login(app, registry)
  loginSecondStep(app, registry)
}

function login(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/login',
    config: { credential: 'none' },
    schema: {
      tags: ['Login'],
      summary: 'Log in',
      description:
        'Answers a session JWT. An unknown user, a wrong password and an inactive user answer alike. Too many tries of ' +
        'one account or from one address answer 429 with Retry-After.',
      security: [],
      body: Type.Object({ username: text(320, 'User name.'), password: Password }),
      response: responses(LoginResult),
    },
    handler: async (request) => {
      const { username, password } = request.body
      const value = accepted(
        await registry.passwords.authenticate({ userName: username, password, address: request.ip }),
      )
      if (value.secondFactor) {
        return { jwt: await registry.tokens.issueSecondFactorStep(value.user), is2faRequired: true }
      }
      return { jwt: await registry.tokens.issueSession(value.user), is2faRequired: false }
    },
  })
}

function loginSecondStep(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/login-2fa',
    config: { credential: 'secondFactorStep' },
    schema: {
      tags: ['Login'],
      summary: 'Log in: the second step',
      description:
        'Takes the JWT of the first step and, in Grpc-Metadata-X-OTP, a code of the authenticator or a recovery code. ' +
        'Each code is good once.',
      security: SESSION_SECURITY,
      headers: OtpHeader,
      response: responses(LoginResult),
    },
    handler: async (request) => {
      const { caller } = request
      if (caller?.kind !== 'secondFactorStep') throw objectNotFound()
      accepted(await registry.secondFactor.verify(caller.userId, otpOf(request.headers)))
      return { jwt: await registry.tokens.issueSession({ id: caller.userId }), is2faRequired: false }
    },
  })
}

/** The header that carries a one-time code. */
export const OtpHeader = Type.Object({
  'grpc-metadata-x-otp': Type.Optional(Type.String({ description: 'One-time code, or a recovery code.' })),
})

/** The one-time code of a request; refuses when it is missing or too long to be one. */
export function otpOf(headers: Readonly<Record<string, unknown>>): string {
  const otp = headers['grpc-metadata-x-otp']
  if (typeof otp !== 'string' || otp === '') {
    throw new RequestRefused('unauthenticated', 'the header Grpc-Metadata-X-OTP is missing', 'otp_missing')
  }
  if (otp.length > 32) throw new RequestRefused('unauthenticated', 'the one-time code is wrong', 'otp_wrong')
  return otp
}

const Profile = Type.Object(
  {
    user: Type.Object({
      id: Type.String(),
      username: Type.String(),
      email: Type.String(),
      isAdmin: Type.Boolean(),
      isActive: Type.Boolean(),
      createdAt: Timestamp,
    }),
    organizations: Type.Array(
      Type.Object({
        organizationID: Type.String(),
        organizationName: Type.String(),
        isAdmin: Type.Boolean(),
        isDeviceAdmin: Type.Boolean(),
        isGatewayAdmin: Type.Boolean(),
      }),
    ),
    is2faEnabled: Type.Boolean(),
  },
  { description: 'The signed-in person.' },
)

/** Bounds the profile of somebody in very many organizations; the list of organizations is paged. */
const MEMBERSHIPS_OF_PROFILE = 1000

/** Who am I, another password, and the end of all my sessions. */
export function addAccountRoutes(app: HttpApp, registry: LoginRegistry): void {
  getProfile(app, registry)
  changePassword(app, registry)
  signOutEverywhere(app, registry)
}

function getProfile(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/internal/profile',
    config: { credential: 'session' },
    schema: {
      tags: ['Login'],
      summary: 'Who am I',
      description: 'The signed-in person, with the roles in its organizations (at most 1,000 of them).',
      security: SESSION_SECURITY,
      response: responses(Profile),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      const user = await registry.users.get(userId)
      if (user === undefined) throw objectNotFound()
      const [memberships, { enabled }] = await Promise.all([
        registry.members.listOfUser(userId, { limit: MEMBERSHIPS_OF_PROFILE, offset: 0 }),
        registry.secondFactor.status(userId),
      ])
      return {
        user: {
          id: user.id,
          username: user.email,
          email: user.email,
          isAdmin: user.isAdmin,
          isActive: user.isActive,
          createdAt: timestamp(user.createdAtMs),
        },
        organizations: memberships.items.map((member) => ({
          organizationID: member.organizationId,
          organizationName: member.organizationName,
          isAdmin: member.isAdmin,
          isDeviceAdmin: member.isDeviceAdmin,
          isGatewayAdmin: member.isGatewayAdmin,
        })),
        is2faEnabled: enabled,
      }
    },
  })
}

function changePassword(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'PUT',
    url: '/api/internal/password',
    config: { credential: 'session' },
    schema: {
      tags: ['Login'],
      summary: 'Change my password',
      description: 'Needs the old password. Ends every session, this one included.',
      security: SESSION_SECURITY,
      body: Type.Object({ oldPassword: Password, password: Password }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      await changeOwnPassword(registry, userId, request.body, request.ip)
      return {}
    },
  })
}

function signOutEverywhere(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/sign-out-everywhere',
    config: { credential: 'session' },
    schema: {
      tags: ['Login'],
      summary: 'End all my sessions',
      description: 'Voids every session JWT issued until now, this one included. Broker-access tokens stay.',
      security: SESSION_SECURITY,
      response: responses(Empty),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      accepted(await registry.tokens.signOutEverywhere(userId, { userId }))
      return {}
    },
  })
}

/**
 * Sets somebody's own password, given the old one. Goes through the throttle of the login, or a stolen session could
 * guess the password here without end.
 */
export async function changeOwnPassword(
  registry: Pick<Registry, 'passwords' | 'users'>,
  userId: string,
  passwords: { readonly oldPassword?: string | undefined; readonly password: string },
  address: string,
): Promise<void> {
  const { oldPassword, password } = passwords
  if (oldPassword === undefined) throw invalidArgument('oldPassword: is missing')
  const user = await registry.users.get(userId)
  if (user === undefined) throw objectNotFound()
  const check = await registry.passwords.authenticate({ userName: user.email, password: oldPassword, address })
  if (!check.ok && check.code === 'unauthenticated') {
    // Not 401: the session is good, and a client would take it for an expired one.
    throw new RequestRefused('permission_denied', 'oldPassword: is wrong', 'old_password_wrong')
  }
  accepted(check)
  accepted(await registry.users.setPassword(userId, password, { userId }))
}

const QrCodeSize = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1024,
    description: 'Width and height of the QR code in pixels; 0 or nothing for 256.',
    'x-rule': 'must be an integer from 0 to 1024',
  }),
)

const TotpConfiguration = Type.Object({
  url: Type.String({ description: 'otpauth URL.' }),
  secret: Type.String({ description: 'Base32.' }),
  recoveryCode: Type.Array(Type.String(), { description: 'Ten codes, each good once. Told only here.' }),
  qrCode: Type.String({ description: 'PNG in base64.' }),
})

/** Management of one's own second factor (RFC 6238). */
export function addSecondFactorRoutes(app: HttpApp, registry: LoginRegistry): void {
  getTotpStatus(app, registry)
  configureTotp(app, registry)
  enableTotp(app, registry)
  disableTotp(app, registry)
  renewRecoveryCodes(app, registry)
}

const common = { tags: ['Login'], security: SESSION_SECURITY }
const config = { credential: 'session' } as const

function getTotpStatus(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/internal/totp-status',
    config,
    schema: {
      ...common,
      summary: 'Is my second factor on',
      description: 'Whether a login needs a one-time code.',
      response: responses(Type.Object({ enabled: flag('Whether it is on.') })),
    },
    handler: async (request) => registry.secondFactor.status(viewerOf(request).userId),
  })
}

function configureTotp(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/totp-configuration',
    config,
    schema: {
      ...common,
      summary: 'Set up an authenticator',
      description: 'Makes a new secret and recovery codes. It takes effect by totp-enable.',
      body: Type.Object({ qrCodeSize: QrCodeSize }),
      response: responses(TotpConfiguration),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      const size =
        request.body.qrCodeSize === undefined || request.body.qrCodeSize === 0 ? 256 : request.body.qrCodeSize
      const value = accepted(await registry.secondFactor.configure(userId, size, { userId }))
      return { url: value.url, secret: value.secret, recoveryCode: [...value.recoveryCodes], qrCode: value.qrCode }
    },
  })
}

function enableTotp(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/totp-enable',
    config,
    schema: {
      ...common,
      summary: 'Turn my second factor on',
      description: 'Needs a code of the authenticator in Grpc-Metadata-X-OTP.',
      headers: OtpHeader,
      response: responses(Empty),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      accepted(await registry.secondFactor.enable(userId, otpOf(request.headers), { userId }))
      return {}
    },
  })
}

function disableTotp(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/totp-disable',
    config,
    schema: {
      ...common,
      summary: 'Turn my second factor off',
      description: 'Needs a code of the authenticator or a recovery code in Grpc-Metadata-X-OTP.',
      headers: OtpHeader,
      response: responses(Empty),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      accepted(await registry.secondFactor.disable(userId, otpOf(request.headers), { userId }))
      return {}
    },
  })
}

function renewRecoveryCodes(app: HttpApp, registry: LoginRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/internal/totp-recovery-codes',
    config,
    schema: {
      ...common,
      summary: 'Make new recovery codes',
      description:
        'Codes are kept as hashes and can’t be shown again, so `regenerate` must be true. Needs a code in ' +
        'Grpc-Metadata-X-OTP; the old codes are void.',
      headers: OtpHeader,
      body: Type.Object({ regenerate: flag('Must be true.') }),
      response: responses(Type.Object({ recoveryCode: Type.Array(Type.String()) })),
    },
    handler: async (request) => {
      const { userId } = viewerOf(request)
      if (!request.body.regenerate) throw invalidArgument('regenerate: must be true; codes can not be shown again')
      const value = accepted(
        await registry.secondFactor.regenerateRecoveryCodes(userId, otpOf(request.headers), { userId }),
      )
      return { recoveryCode: [...value] }
    },
  })
}
