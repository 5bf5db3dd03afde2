/** Hashes passwords with argon2id, a few at a time. */
import { hash, verify } from '@node-rs/argon2'
import { HashTurns } from './hash-turns.ts'
import type { Asker } from './hash-turns.ts'

/** Hashes passwords and compares them with hashes; slow on purpose. */
export interface PasswordHasher {
  /** The hash in PHC form, or `undefined` when too many hashes wait already. */
  hash(password: string, asker: Asker): Promise<string | undefined>
  /** Whether the hash is that password's, or `undefined` when too many hashes wait already. */
  verify(passwordHash: string, password: string, asker: Asker): Promise<boolean | undefined>
}

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane. `algorithm` 2 is argon2id. */
const parameters = { algorithm: 2, memoryCost: 19456, timeCost: 2, parallelism: 1 } as const

/**
 * Hashes at the same time: two, so that a storm of logins takes at most 40 MiB and two threads of
 * the pool.
 */
const CONCURRENCY = 2

/**
 * Hashes that may wait, about 1 s of work. Beyond the bound a hash is refused, of the network and
 * the account that have the most, so that the queue does not grow without end.
 */
const MAXIMUM_WAITING = 64

/** argon2id (RFC 9106) on the thread pool, a few at a time, by networks and accounts in turn. */
export function createPasswordHasher(): PasswordHasher {
  let running = 0
  const turns = new HashTurns(MAXIMUM_WAITING)

  async function inTurn<T>(asker: Asker, work: () => Promise<T>): Promise<T | undefined> {
    // A finished hash hands its place over to a waiting one, so `running` does not change.
    if (running < CONCURRENCY) running += 1
    else if (!(await turns.wait(asker))) return undefined
    try {
      return await work()
    } finally {
      if (!turns.next()) running -= 1
    }
  }

  return {
    hash: (password, asker) => inTurn(asker, () => hash(canonical(password), parameters)),
    verify: (passwordHash, password, asker) => inTurn(asker, () => verify(passwordHash, canonical(password))),
  }
}

/** The one form of a password, however a keyboard composes its characters. */
function canonical(password: string): string {
  return password.normalize('NFKC')
}
