/** Signs in and out: the two steps of a login, and the cookie that survives a reload. */
import { request } from '../api/request.ts'
import { session } from './session.ts'

const KEPT_SESSION = '/api/internal/console-session'
const OWN = { 'fieldgate-console': '1' }

interface LoginResult {
  readonly jwt: string
  readonly is2faRequired: boolean
}

/**
 * Asks for the session that this browser keeps. Never throws: without a session the sign-in is
 * shown.
 */
export async function resume(): Promise<void> {
  try {
    const { jwt } = await request<{ readonly jwt: string }>('GET', KEPT_SESSION, { headers: OWN })
    if (jwt === '') session.end()
    else session.start(jwt)
  } catch {
    session.end('The service can’t be reached. Check the network and try again.')
  }
}

/** The first step of a login. Answers the token of the second step where the user needs one. */
export async function signIn(username: string, password: string): Promise<string | undefined> {
  const body = { username, password }
  const { jwt, is2faRequired } = await request<LoginResult>('POST', '/api/internal/login', { body })
  if (is2faRequired) return jwt
  await begin(jwt)
  return undefined
}

/** The second step of a login: a code of the authenticator, or a recovery code. */
export async function signInWithCode(stepToken: string, otp: string): Promise<void> {
  const { jwt } = await request<LoginResult>('POST', '/api/internal/login-2fa', { token: stepToken, otp, body: {} })
  await begin(jwt)
}

/** Forgets the session in this browser. */
export async function signOut(): Promise<void> {
  await request('DELETE', KEPT_SESSION, { headers: OWN })
  session.end()
}

/** Ends every session of the person, on all devices. */
export async function signOutEverywhere(): Promise<void> {
  await request('POST', '/api/internal/sign-out-everywhere')
  await signOut()
}

async function begin(jwt: string): Promise<void> {
  await request('POST', KEPT_SESSION, { token: jwt })
  session.start(jwt)
}
