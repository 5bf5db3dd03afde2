/** The signed-in person, password and second factor. */
import { useQuery } from '@tanstack/react-query'
import { request } from './request.ts'

export interface Profile {
  readonly user: { readonly id: string; readonly username: string; readonly isAdmin: boolean }
  readonly organizations: readonly {
    readonly organizationID: string
    readonly isAdmin: boolean
    readonly isDeviceAdmin: boolean
    readonly isReadOnly: boolean
  }[]
  readonly is2faEnabled: boolean
}

/**
 * The secret that an authenticator is set up with, and the recovery codes. The service tells both
 * once.
 */
export interface TotpConfiguration {
  readonly url: string
  readonly secret: string
  readonly recoveryCode: readonly string[]
  /** PNG in base64. */
  readonly qrCode: string
}

/** The key of the profile in the cache. */
export const PROFILE_KEY = ['profile'] as const

/** The signed-in person. */
export function useProfile() {
  return useQuery({
    queryKey: PROFILE_KEY,
    queryFn: ({ signal }) => request<Profile>('GET', '/api/internal/profile', { signal }),
    staleTime: 60_000,
  })
}

/** Sets another password. The service then ends every session of the person, also this one. */
export function changePassword(oldPassword: string, password: string): Promise<unknown> {
  return request('PUT', '/api/internal/password', { body: { oldPassword, password } })
}

/** Makes a new secret and recovery codes. They are in force when `enableTotp` was called. */
export function configureTotp(): Promise<TotpConfiguration> {
  return request('POST', '/api/internal/totp-configuration', { body: { qrCodeSize: 240 } })
}

export function enableTotp(otp: string): Promise<unknown> {
  return request('POST', '/api/internal/totp-enable', { otp })
}

export function disableTotp(otp: string): Promise<unknown> {
  return request('POST', '/api/internal/totp-disable', { otp })
}

/** Makes ten new recovery codes. The old codes become void. */
export async function renewRecoveryCodes(otp: string): Promise<readonly string[]> {
  const body = { regenerate: true }
  const answer = await request<{ readonly recoveryCode: readonly string[] }>(
    'POST',
    '/api/internal/totp-recovery-codes',
    {
      otp,
      body,
    },
  )
  return answer.recoveryCode
}
