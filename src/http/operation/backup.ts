/**
 * A backup of the whole deployment as a stream: `fieldgate backup` asks a running service for it.
 */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { isLocalPeer } from '../api/local-peer.ts'
import { ErrorBodySchema, RequestRefused } from '../api/errors.ts'
import { GLOBAL_ADMIN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'

/** Where backups come from. */
export interface Backups {
  /**
   * The bytes of a new backup. Everything that is held for the backup is released when the
   * generator ends or is ended.
   */
  make(): AsyncGenerator<Buffer, void, void>
}

/** The part of the registry that backups need. */
export type BackupRegistry = Pick<Registry, 'audit'>

/**
 * The life of one stream: retention waits for it, so that a reader that stops reading can't hold it
 * for ever.
 */
const BACKUP_TIMEOUT_MS = 6 * 3_600_000
/** Bytes in one part of the stream. */
const PART_BYTES = 1_048_576
const OCTETS = 'application/octet-stream'

/** The route of backups. */
export function backupRoutes(registry: BackupRegistry, backups: Backups): readonly Route[] {
  // One backup at a time: each reads the whole disk and has a copy of the registry.
  let isUnderWay = false
  const backup = route({
    method: 'POST',
    url: '/api/internal/backup',
    may: GLOBAL_ADMIN,
    handlerTimeout: BACKUP_TIMEOUT_MS,
    schema: {
      operationId: 'makeBackup',
      summary: 'Make a backup',
      description:
        'Everything that the deployment holds, as one stream, for `fieldgate restore`. It is given only on the machine of the ' +
        'service, because it holds the keys that sign tokens: use `fieldgate backup`. One at a time.',
      response: {
        200: {
          description: 'The backup.',
          content: { [OCTETS]: { schema: Type.Unsafe<Readable>({ type: 'string', format: 'binary' }) } },
        },
        '4xx': ErrorBodySchema,
        '5xx': ErrorBodySchema,
      },
    },
    handle: async ({ viewer }, request, reply) => {
      if (!isLocalPeer(request)) {
        const message =
          'a backup holds the deployment’s keys and is given to this machine alone: run `fieldgate backup`'
        throw new RequestRefused('permission_denied', message, 'backup_not_local')
      }
      if (isUnderWay) {
        throw new RequestRefused('resource_exhausted', 'a backup is being made already', 'backup_busy')
      }
      isUnderWay = true
      const stream = streamOf(backups, () => {
        isUnderWay = false
      })
      try {
        await registry.audit.record(viewer, {
          action: 'backup.made',
          subject: 'deployment',
          organizationId: null,
          detail: {},
        })
      } catch (error) {
        stream.destroy()
        throw error
      }
      return reply.type(OCTETS).send(stream)
    },
  })
  return resource('Operation', [backup])
}

/** The stream of a backup. `ended` is called once, whether everything was read or nothing. */
function streamOf(backups: Backups, ended: () => void): Readable {
  let hasEnded = false
  const end = (): void => {
    if (!hasEnded) ended()
    hasEnded = true
  }
  const bytes = async function* (): AsyncGenerator<Buffer, void, void> {
    try {
      yield* backups.make()
    } finally {
      end()
    }
  }
  // A generator that was never asked for its first part has no end of its own.
  return Readable.from(bytes(), { objectMode: false, highWaterMark: PART_BYTES }).once('close', end)
}
