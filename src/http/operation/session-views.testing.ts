/** Sessions and network servers for the tests of routes, as a test puts them. */
import type { KeptSession, NetworkServersSeen, SessionsAsked, SessionViews } from './session-views.ts'

export class TestSessionViews implements SessionViews {
  readonly kept: KeptSession[] = []
  /** By the id of the organization. */
  readonly seen = new Map<string, NetworkServersSeen>()

  async sessions({ organizationId, userId, clientId }: SessionsAsked) {
    const items = this.kept.filter(
      (session) =>
        (organizationId === undefined || session.holder.organizationId === organizationId) &&
        (userId === undefined || session.holder.userId === userId) &&
        (clientId === undefined || session.clientId === clientId),
    )
    return { items, missing: [] }
  }

  async networkServers(organizationId: string): Promise<NetworkServersSeen> {
    return this.seen.get(organizationId) ?? {}
  }
}
