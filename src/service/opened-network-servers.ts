/** The running network servers, as the HTTP interface and the metrics use them. */
import type { NetworkServerCounters } from '../lorawan/network-servers/adapter/counters.ts'
import type { WebhookReceiver } from '../lorawan/network-servers/http/webhook-receiver.ts'
import type { NetworkServerEntry } from '../lorawan/network-servers/settings.ts'

/**
 * Network servers that are no clients of the broker. They are opened and shut while the service
 * runs.
 */
export interface OpenedNetworkServers {
  /** Takes the events that network servers post. */
  readonly webhooks: WebhookReceiver
  readonly counters: NetworkServerCounters
  /** Opens one more network server, behind the others in the list. */
  open(entry: NetworkServerEntry): Promise<void>
  /** Closes the network server of this name. Commands that wait for it are offered elsewhere. */
  shut(name: string): Promise<void>
}
