import { hash, verify } from '@node-rs/argon2'

/** Hashes passwords and compares them with hashes; slow on purpose. */
export interface PasswordHasher {
  /** The hash in PHC form, `undefined` when too many wait already. */
  hash(password: string): Promise<string | undefined>
  /** Whether it is that password's hash, `undefined` when too many wait already. */
  verify(passwordHash: string, password: string): Promise<boolean | undefined>
}

/** OWASP's parameters for argon2id: 19 MiB, two passes, one lane. `algorithm` 2 is argon2id. */
const parameters = { algorithm: 2, memoryCost: 19456, timeCost: 2, parallelism: 1 } as const

/**
 * Hashes at once: two, so that 40 MiB and two threads of the pool are the most that a storm of
 * logins takes.
 */
const CONCURRENCY = 2

/**
 * Hashes that may wait, about 1 s of work. Beyond it attempts are refused rather than queued
 * without end.
 */
const MAXIMUM_WAITING = 64

/** argon2id (RFC 9106) on the thread pool, a few at a time. */
export function createPasswordHasher(): PasswordHasher {
  let running = 0
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (running >= CONCURRENCY) {
      if (waiting.length >= MAXIMUM_WAITING) return undefined
      // Whoever ends hands its place over, so `running` stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running += 1
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  return {
    hash: (password) => inTurn(() => hash(canonical(password), parameters)),
    verify: (passwordHash, password) => inTurn(() => verify(passwordHash, canonical(password))),
  }
}

/** One password, however a keyboard composes its characters. */
function canonical(password: string): string {
  return password.normalize('NFKC')
}
