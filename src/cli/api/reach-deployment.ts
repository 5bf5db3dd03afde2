/** Finds out whether a service runs on a data directory, and else takes the directory. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Settings } from '../../settings/settings.ts'
import { openDataDirectory } from '../../data/data-directory.ts'
import type { DataDirectory } from '../../data/data-directory.ts'
import { systemClock } from '../../clock.ts'
import { version } from '../../version.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** How long a command waits until a service has started, or until another command is done. */
const PATIENCE_MS = 15_000
/** The time between two attempts. */
const LOOK_AGAIN_MS = 250

/** The address of a service on this machine. */
export interface ServiceAddress {
  /** `https://127.0.0.1:8443`. */
  readonly httpsAddress: string
  /** The file with the certificate that the service serves there: only this one is trusted. */
  readonly certFile: string
}

/**
 * The way to a deployment: its data directory, which this process holds until it releases it, or
 * the service that holds the directory.
 */
export type Reached =
  | { readonly kind: 'alone'; readonly dataDirectory: DataDirectory }
  | { readonly kind: 'running'; readonly service: ServiceAddress }

/**
 * Finds the way. Throws CommandFailure when the directory is missing, unusable or busy, or when the
 * service is of another version.
 */
export async function reachDeployment(settings: Settings, purpose: string): Promise<Reached> {
  for (let waitedMs = 0; ; waitedMs += LOOK_AGAIN_MS) {
    const opened = await openDataDirectory(settings.dataDirectory, { purpose, clock: systemClock, mustExist: true })
    if (opened.ok) return { kind: 'alone', dataDirectory: opened.dataDirectory }
    if (opened.code !== 'in_use') throw new CommandFailure(opened.message)
    const { holder } = opened
    if (holder?.httpsAddress !== undefined) {
      if (holder.version !== version) {
        const message = `The running service is Fieldgate ${holder.version}, but this command is ${version}. Restart the service first.`
        throw new CommandFailure(message)
      }
      const { httpsAddress, certFile = '' } = holder
      return { kind: 'running', service: { httpsAddress, certFile } }
    }
    if (waitedMs >= PATIENCE_MS) throw new CommandFailure(opened.message)
    await wait(LOOK_AGAIN_MS)
  }
}
