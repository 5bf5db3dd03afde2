/**
 * The connection of the chosen organization, which the parts of a page and the following pages
 * share.
 */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { session, useSession } from '../session/session.ts'
import { useOrganization } from '../shell/organization.tsx'
import { BrokerConnection, CONNECTING } from './broker-connection.ts'
import type { BrokerState, MessageListener } from './broker-connection.ts'

/**
 * The time for which a connection without users is kept, so that the next page need not connect
 * again.
 */
const LINGER_MS = 10_000

interface Shared {
  readonly connection: BrokerConnection
  users: number
  lingering: ReturnType<typeof setTimeout> | undefined
}

const shared = new Map<string, Shared>()

function closeAll(): void {
  for (const { connection, lingering } of shared.values()) {
    clearTimeout(lingering)
    connection.close()
  }
  shared.clear()
}

session.subscribe(() => {
  if (session.token() === undefined) closeAll()
})
window.addEventListener('pagehide', closeAll)

function acquire(organizationId: string): Shared {
  const found = shared.get(organizationId)
  const held = found ?? { connection: new BrokerConnection(organizationId), users: 0, lingering: undefined }
  if (found === undefined) shared.set(organizationId, held)
  clearTimeout(held.lingering)
  held.users += 1
  return held
}

function release(organizationId: string, held: Shared): void {
  held.users -= 1
  if (held.users > 0) return
  held.lingering = setTimeout(() => {
    held.connection.close()
    if (shared.get(organizationId) === held) shared.delete(organizationId)
  }, LINGER_MS)
}

/** The connection; undefined before the page is drawn for the first time. */
export function useBroker(): BrokerConnection | undefined {
  const { organization } = useOrganization()
  const isSignedIn = useSession().phase === 'signedIn'
  const [connection, setConnection] = useState<BrokerConnection>()
  useEffect(() => {
    if (!isSignedIn) return undefined
    const held = acquire(organization.id)
    setConnection(held.connection)
    return () => release(organization.id, held)
  }, [organization.id, isSignedIn])
  return connection
}

/** The state of the connection for these filters. The component is drawn again when it changes. */
export function useBrokerState(connection: BrokerConnection | undefined, topicFilters: readonly string[]): BrokerState {
  return useSyncExternalStore(
    (watcher) => connection?.watch(watcher) ?? (() => {}),
    () => connection?.stateFor(topicFilters) ?? CONNECTING,
  )
}

/** Hands each message that matches the filters to the listener while the component is shown. */
export function useMessages(
  connection: BrokerConnection | undefined,
  topicFilters: readonly string[],
  listener: MessageListener,
): void {
  const latest = useRef(listener)
  useEffect(() => {
    latest.current = listener
  })
  const key = topicFilters.join(' ')
  useEffect(() => {
    if (connection === undefined || key === '') return undefined
    const stops = key.split(' ').map((filter) => connection.listen(filter, (message) => latest.current(message)))
    return () => {
      for (const stop of stops) stop()
    }
  }, [connection, key])
}
