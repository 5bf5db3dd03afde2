/**
 * Management of one's own second factor: time-based one-time passwords (RFC 6238) and recovery
 * codes.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import { Empty, flag, responses } from '../api/fields.ts'
import { SIGNED_IN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { OtpHeader, otpOf } from './login.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The part of the registry that the second factor needs. */
export type SecondFactorRegistry = Pick<Registry, 'secondFactor'>

const QrCodeSize = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1000,
    description: 'Width and height of the QR code in pixels; 0 or nothing for a size that fits.',
    [RULE]: 'must be an integer from 0 to 1000',
  }),
)

const TotpConfiguration = Type.Object(
  {
    url: Type.String({ description: 'otpauth URL.' }),
    secret: Type.String({ description: 'Base32.' }),
    recoveryCode: Type.Array(Type.String(), { description: 'Ten codes, each good once. Told only here.' }),
    qrCode: Type.String({ contentEncoding: 'base64', description: 'PNG in base64.' }),
  },
  { [NAME]: 'TotpConfiguration' },
)

const MustBeTrue = Type.Boolean({
  description: 'Must be true.',
  [RULE]: 'must be true or false',
  [DOCUMENTED]: { type: 'boolean', enum: [true] },
})

/** The routes of the second factor. */
export function secondFactorRoutes(registry: SecondFactorRegistry): readonly Route[] {
  return resource('Login', [
    getTotpStatus(registry),
    configureTotp(registry),
    enableTotp(registry),
    disableTotp(registry),
    renewRecoveryCodes(registry),
  ])
}

function getTotpStatus(registry: SecondFactorRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/internal/totp-status',
    may: SIGNED_IN,
    schema: {
      operationId: 'getTotpStatus',
      summary: 'Is my second factor on',
      description: 'Whether a login needs a one-time code.',
      response: responses(Type.Object({ enabled: flag('Whether it is on.') }, { [NAME]: 'TotpStatus' })),
    },
    handle: async ({ viewer: { userId } }) => registry.secondFactor.status(userId),
  })
}

function configureTotp(registry: SecondFactorRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/totp-configuration',
    may: SIGNED_IN,
    schema: {
      operationId: 'configureTotp',
      summary: 'Set up an authenticator',
      description: 'Makes a new secret and recovery codes. It takes effect by totp-enable.',
      body: Type.Object({ qrCodeSize: QrCodeSize }),
      response: responses(TotpConfiguration),
    },
    handle: async ({ viewer: { userId } }, request) => {
      const value = accepted(await registry.secondFactor.configure(userId, request.body.qrCodeSize ?? 0, { userId }))
      return { url: value.url, secret: value.secret, recoveryCode: [...value.recoveryCodes], qrCode: value.qrCode }
    },
  })
}

function enableTotp(registry: SecondFactorRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/totp-enable',
    may: SIGNED_IN,
    schema: {
      operationId: 'enableTotp',
      summary: 'Turn my second factor on',
      description: 'Needs a code of the authenticator in Grpc-Metadata-X-OTP.',
      headers: OtpHeader,
      response: responses(Empty),
    },
    handle: async ({ viewer: { userId } }, request) => {
      accepted(await registry.secondFactor.enable(userId, otpOf(request.headers), { userId }))
      return {}
    },
  })
}

function disableTotp(registry: SecondFactorRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/totp-disable',
    may: SIGNED_IN,
    schema: {
      operationId: 'disableTotp',
      summary: 'Turn my second factor off',
      description: 'Needs a code of the authenticator or a recovery code in Grpc-Metadata-X-OTP.',
      headers: OtpHeader,
      response: responses(Empty),
    },
    handle: async ({ viewer: { userId } }, request) => {
      accepted(await registry.secondFactor.disable(userId, otpOf(request.headers), { userId }))
      return {}
    },
  })
}

function renewRecoveryCodes(registry: SecondFactorRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/internal/totp-recovery-codes',
    may: SIGNED_IN,
    schema: {
      operationId: 'renewRecoveryCodes',
      summary: 'Make new recovery codes',
      description:
        'Codes are kept as hashes and can’t be shown again, so `regenerate` must be true. Needs a code in ' +
        'Grpc-Metadata-X-OTP; the old codes are void.',
      headers: OtpHeader,
      body: Type.Object({ regenerate: MustBeTrue }),
      response: responses(Type.Object({ recoveryCode: Type.Array(Type.String()) }, { [NAME]: 'RecoveryCodes' })),
    },
    handle: async ({ viewer: { userId } }, request) => {
      if (!request.body.regenerate) throw invalidArgument('regenerate: must be true; codes can not be shown again')
      const value = accepted(
        await registry.secondFactor.regenerateRecoveryCodes(userId, otpOf(request.headers), { userId }),
      )
      return { recoveryCode: [...value] }
    },
  })
}
