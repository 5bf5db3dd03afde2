/**
 * The log: JSON lines (or text for people) on standard error; standard output stays for what a
 * person pastes. A message is `noun.verb`; what it is about goes into the fields: `log.warn({
 * clientId }, 'connection.refused')`.
 */
import { pino } from 'pino'
import type { Level, Logger } from 'pino'

/** The log of the service; a room that takes one may narrow it to the methods that it uses. */
export type Log = Logger

/** Where whole lines go, newline included. */
export interface LogDestination {
  write(line: string): void
}

/** Keys whose values are secrets wherever they stand: in bodies, headers and CONNECT packets. */
const secretKeys = new Set([
  'password',
  'newPassword',
  'userName',
  'jwt',
  'jwtMqttAuth',
  'token',
  'credential',
  'secret',
  'otp',
  'recoveryCode',
  'authorization',
  'grpc-metadata-authorization',
  'grpc-metadata-x-otp',
  'cookie',
  'payload',
])
const redacted = '[redacted]'
/** Levels of objects looked through; deeper ones are not of our making and are left out. */
const MAXIMUM_DEPTH = 4

/**
 * Anything of a JWT's look: a base64url JSON object, a dot, more of it. Whatever field or text
 * brought it in, it does not leave.
 */
const jwtLike = /eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g

/**
 * A log that writes from `level` up. Lines are written in the background, so that a slow reader of
 * standard error never stalls the service; at exit and at `fatal` they are flushed. A reader that
 * falls 16 MiB behind loses lines, the service loses no memory.
 */
export function createLog(
  options: { readonly level: Level | 'silent'; readonly format: 'json' | 'text' },
  destination: LogDestination = (standardError ??= openStandardError()),
): Log {
  const format = options.format === 'text' ? textLine : (line: string) => line
  const stream = {
    ...destination,
    write: (line: string) => {
      const formatted = format(line)
      destination.write(formatted.includes('eyJ') ? formatted.replaceAll(jwtLike, redacted) : formatted)
    },
  }
  return pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // pino's own redaction by wildcard paths costs 38 µs a line, this less than one.
        log: (fields) => withoutSecrets(fields, 1),
      },
    },
    stream,
  )
}

/**
 * Lines gather for so long, or until there are so many bytes: each write goes by way of another
 * thread, which costs 50 µs.
 */
const GATHER_MS = 50
const GATHER_BYTES = 4096

/** One for the process, whatever number of logs it has: one buffer, one bound. */
let standardError: (LogDestination & { flushSync(): void }) | undefined

function openStandardError(): LogDestination & { flushSync(): void } {
  const stream = pino.destination({ dest: 2, sync: false, minLength: GATHER_BYTES, maxLength: 16 * 1024 * 1024 })
  // Standard error is gone (a closed terminal, a dead pipe): there is nowhere left to say so.
  stream.on('error', () => {})
  const flushSync = () => {
    try {
      stream.flushSync()
    } catch {
      // The same.
    }
  }
  process.on('exit', flushSync)
  let isGathering = false
  const flush = () => {
    isGathering = false
    try {
      // With a callback it also writes what came while a write was under way.
      stream.flush(() => {})
    } catch {
      // The same.
    }
  }
  const write = (line: string) => {
    stream.write(line)
    if (isGathering) return
    isGathering = true
    setTimeout(flush, GATHER_MS).unref()
  }
  return { write, flushSync }
}

/**
 * `2026-01-31T12:00:00.000Z WARN  connection.refused clientId=meter-7 reasonCode=135`. Control
 * characters stay escaped.
 */
function textLine(line: string): string {
  const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${textValue(value)}`)
  const head = `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${textValue(message ?? '')}`
  return `${[head, ...shown].join(' ')}\n`
}

function textValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+,-]+$/.test(value) ? value : JSON.stringify(value)
}

/** The fields with the values of secret keys replaced; the same object when there are none. */
function withoutSecrets(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(fields)) {
    const kept = secretKeys.has(key) ? redacted : withoutSecretsWithin(value, depth)
    if (kept === value) continue
    copy ??= { ...fields }
    copy[key] = kept
  }
  return copy ?? fields
}

function withoutSecretsWithin(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (depth >= MAXIMUM_DEPTH) return '[deep]'
  if (!Array.isArray(value)) return withoutSecrets(value as Record<string, unknown>, depth + 1)
  const items = value.map((item) => withoutSecretsWithin(item, depth + 1))
  return items.every((item, index) => item === value[index]) ? value : items
}
