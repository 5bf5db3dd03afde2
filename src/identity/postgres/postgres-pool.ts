/**
 * The connections to PostgreSQL. They heal by themselves: a connection that broke, or that leads to
 * a server that does not write, is dropped, and the next caller gets another.
 */
import { readFileSync } from 'node:fs'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { CustomTypesConfig, Pool, PoolClient, PoolConfig } from 'pg'
import { RegistryUnavailableError } from '../store/registry-unavailable.ts'

/** Where the registry's PostgreSQL is. */
export interface PostgresAddress {
  /** `postgres://user@host:port/database?sslmode=verify-full`. */
  readonly url: string
  /** Used in the place of the password in the URL. */
  readonly password?: string | undefined
  /** The certificate authority of the server, PEM. */
  readonly caFile?: string | undefined
}

/** Connections of one process. Most questions are answered from memory. */
const MAXIMUM_CONNECTIONS = 10
/**
 * Callers that wait for a connection at most. Further callers are told at once that the database is
 * not available: a crowd of clients that reconnect would otherwise fill the memory.
 */
const MAXIMUM_WAITING = 10_000
/** How long a caller waits for a connection. */
const CONNECT_MS = 5_000
/** A statement that takes longer is given up by the server. No statement of ours takes a tenth. */
const STATEMENT_MS = 30_000
/** The answer of a server that is gone without a word is awaited so long. */
const ANSWER_MS = 35_000
/**
 * A transaction whose process says nothing more is ended by the server after this time: a process
 * that was stopped would otherwise hold the lock of all changes.
 */
const IDLE_IN_TRANSACTION_MS = 10_000

/** The types bigint and numeric (the sum of bigints), which come as a number. */
const NUMBERS: ReadonlySet<number> = new Set([20, 1700])

/** Opens no connection yet. `onError` hears of connections that broke while nobody used them. */
export async function createPostgresPool(
  address: PostgresAddress,
  onError: (error: unknown) => void,
): Promise<PostgresPool> {
  // Loaded here, so that a deployment on SQLite does not load it.
  const { default: pg } = await import('pg')
  const numbers: CustomTypesConfig = {
    getTypeParser: (oid, format) =>
      NUMBERS.has(oid) && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
  }
  const pool = new pg.Pool({ ...configOf(address), types: numbers })
  pool.on('error', onError)
  pool.on('connect', (client) => {
    // A connection that breaks while its transaction waits tells it here; the next statement fails.
    client.on('error', onError)
  })
  return adapt(pool)
}

function configOf({ url, password, caFile }: PostgresAddress): PoolConfig {
  const parsed = new URL(url)
  const mode = parsed.searchParams.get('sslmode') ?? 'disable'
  parsed.searchParams.delete('sslmode')
  if (password !== undefined) parsed.password = encodeURIComponent(password)
  return {
    connectionString: parsed.toString(),
    ssl: tlsOf(mode, caFile),
    application_name: 'fieldgate',
    max: MAXIMUM_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: ANSWER_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  }
}

/**
 * The modes of libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). `require` encrypts
 * without a look at the certificate, unless there is an authority to check it by.
 */
function tlsOf(mode: string, caFile: string | undefined): PoolConfig['ssl'] {
  if (mode === 'disable') return false
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }
  if (mode === 'verify-full') return { ...ca, rejectUnauthorized: true }
  if (mode === 'verify-ca' || caFile !== undefined) {
    return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined }
  }
  return { rejectUnauthorized: false }
}

function adapt(pool: Pool): PostgresPool {
  return {
    async connect() {
      if (pool.waitingCount >= MAXIMUM_WAITING) throw new RegistryUnavailableError('too many callers wait for it')
      let client: PoolClient
      try {
        client = await pool.connect()
      } catch (error) {
        // The next caller tries again, also after a wrong password: somebody may repair it.
        throw new RegistryUnavailableError(error)
      }
      if (!checked.has(client)) {
        try {
          await checkWritable(client)
        } catch (error) {
          client.release(true)
          throw error
        }
      }
      return adaptClient(client)
    },
    end: () => pool.end(),
    options: {},
  }
}

/** The connections whose server was seen to take changes. */
const checked = new WeakSet<PoolClient>()

/** After a failover, an address may still lead to a server that only reads. */
async function checkWritable(client: PoolClient): Promise<void> {
  const { rows } = await client
    .query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    .catch((error: unknown) => {
      throw new RegistryUnavailableError(error)
    })
  if (rows[0]?.standby !== false) throw new RegistryUnavailableError('the server is a standby')
  checked.add(client)
}

function adaptClient(client: PoolClient): PostgresPoolClient {
  let isBroken = false
  const run = async (text: unknown, parameters: unknown): Promise<unknown> => {
    try {
      return await client.query(text as string, withoutNul(parameters))
    } catch (error) {
      if (!isOfConnection(error)) throw error
      isBroken = true
      throw new RegistryUnavailableError(error)
    }
  }
  return {
    query: run as PostgresPoolClient['query'],
    release: () => client.release(isBroken),
    get processID() {
      return (client as unknown as { readonly processID?: number }).processID
    },
  } as PostgresPoolClient
}

/**
 * PostgreSQL refuses NUL in a text. No stored text has it, so a text with it in a question must
 * find nothing, and not fail.
 */
function withoutNul(parameters: unknown): unknown[] {
  const given = Array.isArray(parameters) ? (parameters as unknown[]) : []
  return given.map((one) => (typeof one === 'string' && one.includes('\0') ? one.replaceAll('\0', '\ufffd') : one))
}

/**
 * True for an error after which the connection is of no more use, or which another server may not
 * give. Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
 */
function isOfConnection(error: unknown): boolean {
  const code = codeOf(error)
  // An error without a code of PostgreSQL comes from the socket: reset, timeout, unexpected end.
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return true
  return (
    code.startsWith('08') || // connection exceptions
    code.startsWith('57P') || // the server stops, or is starting
    code.startsWith('53') || // no disk, memory or connections left
    code.startsWith('58') || // errors of the server's system
    code === '57014' || // the statement took too long
    code === '25P03' || // the transaction was idle too long
    code === '25006' // the server only reads
  )
}

/** True when the transaction may succeed if it is run again: a deadlock, or a conflict. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40P01' || code === '40001'
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
