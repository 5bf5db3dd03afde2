/** The second factor of a login: time-based one-time passwords and recovery codes. */
import { createHash, randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import { Secret, TOTP } from 'otpauth'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** The data with which a user sets an authenticator up. Only one answer has it. */
export interface SecondFactorConfiguration {
  /** `otpauth://totp/...` */
  readonly url: string
  /** In base32. */
  readonly secret: string
  /** Ten codes, each `xxxxx-xxxxx`, each good once. */
  readonly recoveryCodes: readonly string[]
  /** A PNG in base64. */
  readonly qrCode: string
}

/**
 * Time-based one-time passwords, RFC 6238: SHA-1, 6 digits, 30 s, one step of tolerance either way,
 * each code good once. Wherever an `otp` is taken, refusals are: second_factor_not_configured,
 * second_factor_not_enabled, otp_wrong, second_factor_locked (too many wrong ones; passes by
 * itself).
 */
export interface SecondFactor {
  status(userId: string): Promise<{ readonly enabled: boolean }>
  /**
   * Makes a new secret, which takes effect by `enable`. Refusals: user_not_found,
   * second_factor_enabled.
   */
  configure(userId: string, qrCodeSize: number, actor: Actor): Promise<Result<SecondFactorConfiguration>>
  /** Turns it on, given a code of the authenticator. Refusal: second_factor_enabled. */
  enable(userId: string, otp: string, actor: Actor): Promise<Result<void>>
  /** Turns it off, given a code of the authenticator or a recovery code. */
  disable(userId: string, otp: string, actor: Actor): Promise<Result<void>>
  /** Turns it off for a user who lost it. Refusal: second_factor_not_configured. */
  reset(userId: string, actor: Actor): Promise<Result<void>>
  /** Makes ten new recovery codes; the old ones are void. */
  regenerateRecoveryCodes(userId: string, otp: string, actor: Actor): Promise<Result<readonly string[]>>
  /** Checks a code of the authenticator or a recovery code. A good code is used up by the check. */
  verify(userId: string, otp: string): Promise<Result<void>>
}

const issuer = 'Fieldgate'
const PERIOD_SECONDS = 30
const RECOVERY_CODE_COUNT = 10
/** Pixels; more would only cost memory. */
const qrCodeSizes = { minimum: 100, default: 200, maximum: 1000 }
/**
 * After this many wrong codes in a row the step is locked for a minute, after as many again for two
 * minutes, and so on up to an hour. A guesser gets some 130 tries a day, and three codes in a
 * million are good at a time.
 */
const FAILURES_PER_LOCK = 5
const lockMs = { first: 60_000, longest: 3_600_000 }

/** The second factors of a store's users. */
export function createSecondFactor(store: Store): SecondFactor {
  const { db } = store
  return {
    async status(userId) {
      const row = await findRow(db, userId)
      return { enabled: row?.is_enabled === 1 }
    },

    configure: (userId, qrCodeSize, actor) => configure(store, userId, qrCodeSize, actor),

    enable: (userId, otp, actor) =>
      withCode(
        store,
        { userId, otp, actor, takesRecoveryCode: false },
        async ({ trx, audit }, userRowId) => {
          await trx.updateTable('second_factors').set({ is_enabled: 1 }).where('user_id', '=', userRowId).execute()
          await audit('second_factor.enabled', userId, null)
          return done
        },
        refuseEnabled,
      ),

    disable: (userId, otp, actor) =>
      withCode(store, { userId, otp, actor, takesRecoveryCode: true }, async (unit, userRowId) => {
        await forget(unit, userRowId)
        await unit.audit('second_factor.disabled', userId, null)
        return done
      }),

    reset: (userId, actor) =>
      store.change(actor, async (unit) => {
        const row = await findRow(unit.trx, userId)
        if (row === undefined) return notConfigured()
        await forget(unit, row.user_id)
        await unit.audit('second_factor.reset', userId, null)
        return done
      }),

    regenerateRecoveryCodes: (userId, otp, actor) =>
      withCode(store, { userId, otp, actor, takesRecoveryCode: true }, async (unit, userRowId) => {
        const recoveryCodes = makeRecoveryCodes()
        await saveRecoveryCodes(unit, userRowId, recoveryCodes)
        await unit.audit('second_factor.recovery_codes_made', userId, null)
        return granted<readonly string[]>(recoveryCodes)
      }),

    verify: (userId, otp) =>
      withCode(store, { userId, otp, actor: { userId }, takesRecoveryCode: true }, () => Promise.resolve(done)),
  }
}

async function configure(
  store: Store,
  userId: string,
  qrCodeSize: number,
  actor: Actor,
): Promise<Result<SecondFactorConfiguration>> {
  const secret = new Secret({ size: 20 })
  const recoveryCodes = makeRecoveryCodes()
  const saved = await store.change(actor, (unit) => saveSecret(unit, userId, secret.base32, recoveryCodes))
  if (!saved.ok) return saved
  const url = authenticatorOf(secret.base32, saved.value).toString()
  const wanted = Number.isFinite(qrCodeSize) && qrCodeSize > 0 ? Math.trunc(qrCodeSize) : qrCodeSizes.default
  const width = Math.min(Math.max(wanted, qrCodeSizes.minimum), qrCodeSizes.maximum)
  const { toBuffer } = await import('qrcode')
  const image = await toBuffer(url, { type: 'png', width })
  return granted({ url, secret: secret.base32, recoveryCodes, qrCode: image.toString('base64') })
}

/** Runs `work` if the code is good. */
function withCode<T>(
  store: Store,
  { userId, otp, actor, takesRecoveryCode }: CodeUse,
  work: (unit: Unit, userRowId: number) => Promise<Result<T>>,
  isExpected: (row: Row) => Refusal | undefined = refuseDisabled,
): Promise<Result<T>> {
  return store.change(actor, async (unit) => {
    const row = await findRow(unit.trx, userId)
    if (row === undefined) return notConfigured()
    const refusal = isExpected(row) ?? (await useCode(unit, row, otp, takesRecoveryCode))
    return refusal ?? work(unit, row.user_id)
  })
}

/** Uses the code up if it is good; otherwise counts the failure and returns the refusal. */
async function useCode(unit: Unit, row: Row, otp: string, takesRecoveryCode: boolean): Promise<Refusal | undefined> {
  const { nowMs } = unit
  const lockedMs = row.locked_until_at - nowMs
  // A lock never lasts longer than its wait, not even when the clock was set back since.
  if (lockedMs > 0 && lockedMs <= waitAfter(row.failures)) {
    return refuse('resource_exhausted', 'second_factor_locked', 'too many wrong codes, try again later')
  }
  const step = stepOf(row, otp, nowMs)
  const isGood =
    step === undefined ? takesRecoveryCode && (await useRecoveryCode(unit, row.user_id, otp)) : step > row.last_step
  const table = unit.trx.updateTable('second_factors').where('user_id', '=', row.user_id)
  if (isGood) {
    await table.set({ failures: 0, last_step: Math.max(step ?? 0, row.last_step) }).execute()
    return undefined
  }
  const failures = row.failures + 1
  const isLocking = failures % FAILURES_PER_LOCK === 0
  await table.set({ failures, locked_until_at: isLocking ? nowMs + waitAfter(failures) : nowMs }).execute()
  if (isLocking) await unit.audit('second_factor.locked', String(row.user_id), null, { failures })
  return refuse('unauthenticated', 'otp_wrong', 'wrong one-time password')
}

/** The length of the lock after this number of failures. */
function waitAfter(failures: number): number {
  const locks = Math.floor(failures / FAILURES_PER_LOCK)
  return locks === 0 ? 0 : Math.min(lockMs.first * 2 ** (locks - 1), lockMs.longest)
}

type Row = Selectable<Schema['second_factors']>

interface CodeUse {
  readonly userId: string
  readonly otp: string
  readonly actor: Actor
  readonly takesRecoveryCode: boolean
}

async function findRow(db: Store['db'], userId: string): Promise<Row | undefined> {
  return db
    .selectFrom('second_factors')
    .selectAll()
    .where('user_id', '=', parseId(userId) ?? 0)
    .executeTakeFirst()
}

/** Stores the secret, which is not yet in effect. Returns the user's email. */
async function saveSecret(
  unit: Unit,
  userId: string,
  secret: string,
  recoveryCodes: readonly string[],
): Promise<Result<string>> {
  const { trx, audit } = unit
  const user = await trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where('id', '=', parseId(userId) ?? 0)
    .executeTakeFirst()
  if (user === undefined) return notFound('user_not_found')
  const row = await findRow(trx, userId)
  if (row?.is_enabled === 1) return refuseEnabled(row) ?? granted(user.email)
  await trx
    .insertInto('second_factors')
    .values({ user_id: user.id, secret, is_enabled: 0, last_step: 0, failures: 0, locked_until_at: 0 })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ secret, last_step: 0 }))
    .execute()
  await saveRecoveryCodes(unit, user.id, recoveryCodes)
  await audit('second_factor.configured', userId, null)
  return granted(user.email)
}

async function saveRecoveryCodes({ trx }: Unit, userRowId: number, codes: readonly string[]): Promise<void> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userRowId).execute()
  await trx
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ user_id: userRowId, code_hash: hashOf(userRowId, code) })))
    .execute()
}

async function forget({ trx }: Unit, userRowId: number): Promise<void> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userRowId).execute()
  await trx.deleteFrom('second_factors').where('user_id', '=', userRowId).execute()
}

/** The time step that the code belongs to, one of three around now (RFC 6238 §5.2). */
function stepOf(row: Row, otp: string, nowMs: number): number | undefined {
  if (!/^[0-9]{6}$/.test(otp)) return undefined
  const delta = authenticatorOf(row.secret, '').validate({ token: otp, timestamp: nowMs, window: 1 })
  return delta === null ? undefined : Math.floor(nowMs / 1000 / PERIOD_SECONDS) + delta
}

async function useRecoveryCode({ trx }: Unit, userRowId: number, otp: string): Promise<boolean> {
  if (!/^[a-z2-7]{5}-[a-z2-7]{5}$/i.test(otp)) return false
  const { numDeletedRows } = await trx
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userRowId)
    .where('code_hash', '=', hashOf(userRowId, otp.toLowerCase()))
    .executeTakeFirst()
  return numDeletedRows > 0n
}

function authenticatorOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer, label, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS })
}

function makeRecoveryCodes(): readonly string[] {
  return Array.from({ length: RECOVERY_CODE_COUNT }, () => {
    // 10 of 32 letters: 50 random bits.
    const letters = Array.from(randomBytes(10), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32])
    return `${letters.slice(0, 5).join('')}-${letters.slice(5).join('')}`
  })
}

/** The hash contains the user, so that equal codes of two users differ. */
function hashOf(userRowId: number, code: string): string {
  return createHash('sha256').update(`${userRowId}:${code}`).digest('hex')
}

function refuseEnabled(row: Row): Refusal | undefined {
  if (row.is_enabled !== 1) return undefined
  return refuse('failed_precondition', 'second_factor_enabled', 'the second factor is on already')
}

function refuseDisabled(row: Row): Refusal | undefined {
  if (row.is_enabled === 1) return undefined
  return refuse('failed_precondition', 'second_factor_not_enabled', 'the second factor is off')
}

function notConfigured(): Refusal {
  return refuse('failed_precondition', 'second_factor_not_configured', 'the second factor is not configured')
}
