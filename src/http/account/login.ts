/** Endpoint 1 of the specification: logging in, in two steps where the second factor is on. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { MAXIMUM_PASSWORD, MINIMUM_PASSWORD } from '../../identity/people/users.ts'
import { accepted, RequestRefused } from '../api/errors.ts'
import { A_LINE, responses, ruledText, text } from '../api/fields.ts'
import { OPEN, SECOND_FACTOR_STEP } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { DEMANDED, NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that logging in needs. */
export type LoginRegistry = Pick<Registry, 'passwords' | 'secondFactor' | 'tokens'>

const LoginResult = Type.Object(
  {
    jwt: Type.String({
      description: 'Session JWT; with is2faRequired, a JWT for login-2fa alone that lives 600 s.',
      examples: ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
    }),
    is2faRequired: Type.Boolean({ description: 'Whether a second factor is required.' }),
  },
  { description: 'Login result', [NAME]: 'LoginResult' },
)

/** A password in a body. No password is longer; the bound keeps megabytes out of the hash. */
export const PasswordInput = text(1024, 'Password.')

/** A new password in a body. */
export const NewPassword = ruledText(1024, 'New password.', {
  ...A_LINE,
  minLength: MINIMUM_PASSWORD,
  maxLength: MAXIMUM_PASSWORD,
})

/** Endpoint 1 of the specification, and the second step of a login. */
export function loginRoutes(registry: LoginRegistry): readonly Route[] {
  return resource('Login', [login(registry), loginSecondStep(registry)])
}

function login(registry: LoginRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/login',
    may: OPEN,
    schema: {
      operationId: 'login',
      summary: 'Log in',
      description:
        'Answers a session JWT. An unknown user, a wrong password and an inactive user answer alike. Too many tries of ' +
        'one account or from one address answer 429 with Retry-After.',
      body: Type.Object(
        { username: text(320, 'User name.'), password: PasswordInput },
        { examples: [{ username: 'demo@example.org', password: 'correct horse battery staple' }] },
      ),
      response: responses(LoginResult),
    },
    handle: async (_nobody, request) => {
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

function loginSecondStep(registry: LoginRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/login-2fa',
    may: SECOND_FACTOR_STEP,
    schema: {
      operationId: 'loginSecondStep',
      summary: 'Log in: the second step',
      description:
        'Takes the JWT of the first step and, in Grpc-Metadata-X-OTP, a code of the authenticator or a recovery code. ' +
        'Each code is good once.',
      headers: OtpHeader,
      response: responses(LoginResult),
    },
    handle: async ({ userId }, request) => {
      accepted(await registry.secondFactor.verify(userId, otpOf(request.headers)))
      return { jwt: await registry.tokens.issueSession({ id: userId }), is2faRequired: false }
    },
  })
}

/** The header that carries a one-time code. */
export const OtpHeader = Type.Object({
  'Grpc-Metadata-X-OTP': Type.Optional(
    Type.String({ description: 'One-time code, or a recovery code.', examples: ['123456'], [DEMANDED]: true }),
  ),
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
