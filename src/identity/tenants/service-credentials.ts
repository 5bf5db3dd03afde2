/** The credentials with which network servers connect: made, listed, checked and revoked. */
import { findOrganization } from './organizations.ts'
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { listPage } from '../store/list-page.ts'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import type { Selectable } from 'kysely'
import { foldText, isName, parseId } from '../store/text-rules.ts'

/** The credential with which a network server connects. */
export interface ServiceCredential {
  readonly id: string
  readonly name: string
  /** `network-server-<id>`. */
  readonly userName: string
  /** `null`: good for every organization of the deployment. */
  readonly organizationId: string | null
  readonly createdAtMs: number
}

/** The credentials of network servers. */
export interface ServiceCredentials {
  /**
   * The answer is the only one with the password: only its hash is kept. Refusals: invalid_name,
   * organization_not_found.
   */
  create(
    credential: { readonly name: string; readonly organizationId: string | null },
    actor: Actor,
  ): Promise<Result<{ readonly id: string; readonly userName: string; readonly password: string }>>
  /**
   * Sorted by name. With `organizationId` only the credentials of that organization; with `null`
   * only the credentials of the whole deployment.
   */
  list(page: Page & { readonly organizationId?: string | null }): Promise<Listed<ServiceCredential>>
  get(id: string): Promise<ServiceCredential | undefined>
  /** Refusal: service_credential_not_found. */
  revoke(id: string, actor: Actor): Promise<Result<void>>
  /**
   * The credential with this user name and password, or `undefined`. The look-up takes the same
   * time whichever of the two is wrong.
   */
  authenticate(
    userName: string,
    password: Uint8Array,
  ): Promise<{ readonly id: string; readonly organizationId: string | null; readonly name: string } | undefined>
}

const MAXIMUM_NAME = 100
const userNamePrefix = 'network-server-'
const PASSWORD_BYTES = 32
/** No password is longer: longer ones are not even hashed. */
const MAXIMUM_PASSWORD_BYTES = 256

/** The service credentials of a store. */
export function createServiceCredentials(store: Store): ServiceCredentials {
  const { db } = store
  return {
    create: ({ name, organizationId }, actor) =>
      store.change(actor, async ({ trx, nowMs, audit }) => {
        if (!isName(name, MAXIMUM_NAME)) {
          const rule = `name must have 1 to ${MAXIMUM_NAME} characters on one line`
          return refuse('invalid_argument', 'invalid_name', rule)
        }
        const organization = organizationId === null ? null : await findOrganization(trx, organizationId)
        if (organization === undefined) return notFound('organization_not_found')
        const id = randomUUID()
        const password = randomBytes(PASSWORD_BYTES).toString('base64url')
        await trx
          .insertInto('service_credentials')
          .values({
            id,
            name,
            sort_key: foldText(name),
            organization_id: organization?.id ?? null,
            password_hash: hashOf(Buffer.from(password)).toString('hex'),
            created_at: nowMs,
          })
          .execute()
        await audit('service_credential.created', id, organizationId, { name })
        return granted({ id, userName: userNamePrefix + id, password })
      }),

    list(page) {
      let scope = db.selectFrom('service_credentials')
      if (page.organizationId === null) scope = scope.where('organization_id', 'is', null)
      else if (page.organizationId !== undefined) {
        scope = scope.where('organization_id', '=', parseId(page.organizationId) ?? 0)
      }
      return listPage(scope, page, {
        searched: 'sort_key',
        sorted: (rows) => rows.selectAll().orderBy('sort_key').orderBy('id'),
        itemOf: credentialOf,
      })
    },

    async get(id) {
      const row = await db.selectFrom('service_credentials').selectAll().where('id', '=', id).executeTakeFirst()
      return row && credentialOf(row)
    },

    revoke: (id, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const row = await trx
          .deleteFrom('service_credentials')
          .where('id', '=', id)
          .returning(['name', 'organization_id'])
          .executeTakeFirst()
        if (row === undefined) return notFound('service_credential_not_found')
        await audit('service_credential.revoked', id, organizationIdOf(row), { name: row.name })
        emit({ kind: 'service_credential_revoked', id })
        return done
      }),

    async authenticate(userName, password) {
      const id = userName.startsWith(userNamePrefix) ? userName.slice(userNamePrefix.length, 100) : ''
      const row = await db.selectFrom('service_credentials').selectAll().where('id', '=', id).executeTakeFirst()
      // The comparison is made in any case, so that its time doesn't tell whether the name exists.
      const expected = row === undefined ? nobodysHash : Buffer.from(row.password_hash, 'hex')
      const actual = hashOf(password.length > MAXIMUM_PASSWORD_BYTES ? new Uint8Array(0) : password)
      const isEqual = timingSafeEqual(actual, expected)
      if (!isEqual || row === undefined || userName !== userNamePrefix + row.id) return undefined
      return { id: row.id, organizationId: organizationIdOf(row), name: row.name }
    },
  }
}

type Row = Selectable<Schema['service_credentials']>

function credentialOf(row: Row): ServiceCredential {
  const { id, name, created_at: createdAtMs } = row
  return { id, name, userName: userNamePrefix + id, organizationId: organizationIdOf(row), createdAtMs }
}

function organizationIdOf({ organization_id: id }: Pick<Row, 'organization_id'>): string | null {
  return id === null ? null : String(id)
}

const nobodysHash = randomBytes(32)

/** SHA-256 is enough: a password of 256 random bits can't be guessed, however quick the hash is. */
function hashOf(password: Uint8Array): Buffer {
  return createHash('sha256').update(password).digest()
}
