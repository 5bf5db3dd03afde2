/**
 * The logger of the running program, by pino: JSON lines or plain text on standard error. Standard
 * output stays free for results that a person pastes elsewhere. A message is `noun.verb`, and its
 * subject goes into the fields: `log.warn({ clientId }, 'connection.refused')`. The rooms
 * take the port `Logger` of `logger.ts`, which this logger and its children fit. Only `http/` takes
 * pino's own type, because Fastify does.
 */
import { pino } from 'pino'
import type { Level, Logger as Pino } from 'pino'
import { BackgroundLines } from './background-lines.ts'
import { systemClock } from './clock.ts'

/** The program's logger. The composition makes a child of it for each room. */
export type PinoLogger = Pino

/** Takes whole lines, newline included. */
export interface LogDestination {
  write(line: string): void
}

/** The values of these keys are secrets everywhere: in bodies, headers and CONNECT packets. */
const SECRET_KEYS = new Set([
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
const REDACTED = '[redacted]'
/** Secrets are looked for down to this level of nested objects; deeper objects are left out. */
const MAXIMUM_DEPTH = 4

/**
 * Text that looks like a JWT: a base64url JSON object, a dot, more base64url. This text is redacted
 * in every field and message.
 */
const JWT_LIKE = /eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g

/**
 * The secret of an API key, whole or cut. The id before it stays, so that a key that was found in a
 * wrong place, like a Client Identifier, can be revoked.
 */
const API_KEY_SECRET = /(?<=fg_[0-9A-Za-z]{12}_)[0-9A-Za-z]{8,}/g

/** The secret of a webhook. */
const WEBHOOK_SECRET = /(?<=whsec_)[\w+/=%-]{8,}/g

/**
 * A logger that writes lines of `level` and above. It writes in the background, so that a slow
 * reader of standard error never stalls the service. It flushes at exit and at `fatal`. A reader
 * that falls 16 MiB behind loses lines; the memory of the service does not grow further.
 */
export function createPinoLogger(
  options: { readonly level: Level | 'silent'; readonly format: 'json' | 'text' },
  destination: LogDestination = (standardError ??= openStandardError()),
): PinoLogger {
  const format = options.format === 'text' ? textLine : (line: string) => line
  const stream = {
    ...destination,
    write: (line: string) => destination.write(withoutSecretTexts(format(line))),
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
        // pino's own redaction by wildcard paths costs 38 µs a line; this costs less than 1 µs.
        log: (fields) => withoutSecrets(fields, 1),
      },
    },
    stream,
  )
}

/** The most bytes that wait for a slow reader of standard error; later lines are lost. */
const MAXIMUM_WAITING_BYTES = 16 * 1024 * 1024

/** All loggers of the process share one destination, so that there is one buffer with one bound. */
let standardError: (LogDestination & { flushSync(): void }) | undefined

function openStandardError(): LogDestination & { flushSync(): void } {
  const stream = pino.destination({ dest: 2, sync: false, maxLength: MAXIMUM_WAITING_BYTES })
  // Standard error is gone (a closed terminal, a dead pipe): there is no place left to report that.
  stream.on('error', () => {})
  const lines = new BackgroundLines(
    {
      write: (text) => void stream.write(text),
      flushSync: () => stream.flushSync(),
      onIdle: (listener) => stream.on('drain', listener).on('error', listener),
    },
    { after: afterIfRunning, rest: (ms) => systemClock.rest(ms) },
    writeLast,
  )
  // Pino's own listener does not wait for a text that is under way.
  process.prependListener('exit', () => lines.flushSync())
  return { write: (line) => lines.write(line), flushSync: () => lines.flushSync() }
}

/** Writes the text to standard error before it returns. */
function writeLast(text: string): void {
  const stream = pino.destination({ dest: 2, sync: true })
  stream.on('error', () => {})
  stream.write(text)
}

/** As `Clock.after` has it. The program does not wait for it before it ends. */
function afterIfRunning(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Turns a JSON line into a line for people:
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

/** Most lines have no such text, and the search for a short word costs next to nothing. */
function withoutSecretTexts(line: string): string {
  let text = line
  if (text.includes('eyJ')) text = text.replaceAll(JWT_LIKE, REDACTED)
  if (text.includes('fg_')) text = text.replaceAll(API_KEY_SECRET, REDACTED)
  if (text.includes('whsec_')) text = text.replaceAll(WEBHOOK_SECRET, REDACTED)
  return text
}

/** The fields with the values of secret keys replaced; the same object when there are none. */
function withoutSecrets(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    const kept = SECRET_KEYS.has(key) ? REDACTED : withoutSecretsWithin(value, depth)
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
