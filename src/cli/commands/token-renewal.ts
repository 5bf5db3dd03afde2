/**
 * Keeps a fresh broker-access token in a file, for programs that can't renew one by themselves:
 * each token is replaced when two thirds of its life are over.
 */
import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import type { Clock } from '../../clock.ts'
import { parseObject } from '../../json.ts'
import { ApiRefusal } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** The share of a token's life after which the next token is asked for. */
const RENEWED_AFTER = 2 / 3
/** The wait after a first failure. It doubles with each failure, up to the longest wait. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** Timers of Node end at once above 24.8 days, so a longer wait is made of several. */
const LONGEST_TIMER_MS = 86_400_000

/** The word of a template in whose place the token stands. */
export const TOKEN_WORD = 'FIELDGATE_TOKEN'

/** The parts of a renewal. */
export interface TokenRenewalOptions {
  /** Asks the service for a token. */
  readonly issue: () => Promise<string>
  /** Hands the token over. */
  readonly deliver: (token: string) => Promise<void>
  /** Is told of each attempt, in a sentence. */
  readonly tell: (sentence: string) => void
  readonly clock: Pick<Clock, 'after' | 'steady'>
  readonly signal: AbortSignal
}

/**
 * Renews until the signal. A refusal for ever (a wrong password, a key that was revoked) is thrown
 * when no token was delivered yet; later it is tried again, since an operator may set it right.
 */
export async function renewTokens({ issue, deliver, tell, clock, signal }: TokenRenewalOptions): Promise<void> {
  let failures = 0
  let isFirst = true
  while (!signal.aborted) {
    try {
      const token = await issue()
      await deliver(token)
      const waitMs = lifeMsOf(token) * RENEWED_AFTER
      tell(`A new token is in place; the next one comes in ${Math.round(waitMs / 1000)} s.`)
      isFirst = false
      failures = 0
      await sleep(clock, waitMs, signal)
    } catch (error) {
      if (isFirst && isForEver(error)) throw error
      failures += 1
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS)
      tell(`${messageOf(error)} Trying again in ${waitMs / 1000} s.`)
      await sleep(clock, waitMs, signal)
    }
  }
}

/** Writes a file that only its owner may read. Readers see the old content, or the new one. */
export async function replaceFile(file: string, content: string): Promise<void> {
  const fresh = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const handle = await open(fresh, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw new CommandFailure(`${file} can’t be written: ${error instanceof Error ? error.message : String(error)}.`)
  }
}

/** The life of a token in ms, of its own `iat` and `exp` (RFC 7519 §4.1). */
function lifeMsOf(token: string): number {
  const { iat, exp } = parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url')) ?? {}
  if (typeof iat !== 'number' || typeof exp !== 'number' || exp <= iat) {
    throw new CommandFailure('The service answered no token that can be renewed.')
  }
  return (exp - iat) * 1000
}

function isForEver(error: unknown): boolean {
  if (error instanceof ApiRefusal) return error.status >= 400 && error.status < 500 && error.status !== 429
  return error instanceof CommandFailure && error.exitCode === 2
}

function messageOf(error: unknown): string {
  if (error instanceof ApiRefusal) return `The service refused: ${error.message}.`
  return error instanceof Error ? error.message : String(error)
}

async function sleep(clock: Pick<Clock, 'after' | 'steady'>, ms: number, signal: AbortSignal): Promise<void> {
  const end = clock.steady() + ms
  for (let left = ms; left > 0 && !signal.aborted; left = end - clock.steady()) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(Math.min(left, LONGEST_TIMER_MS), resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    cancel()
  }
}
