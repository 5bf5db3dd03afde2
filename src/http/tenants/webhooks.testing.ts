/** Webhooks that run nowhere, for the tests of the routes. */
import type { Clock } from '../../clock.ts'
import type { DeliveryEntry } from '../../lorawan/webhooks/delivery-log.ts'
import type { WebhookViews } from './webhooks.ts'

/** Every test succeeds; the event `1-1` of each organization is a minute old. */
export function testWebhookViews(clock: Pick<Clock, 'now'>): WebhookViews {
  const delivered = (): DeliveryEntry => ({
    atMs: clock.now(),
    outcome: 'delivered',
    webhookId: '1-1',
    events: 1,
    devEui: '0101010101010101',
    kind: 'up',
    tries: 1,
    status: 204,
    durationMs: 7,
    code: '',
    reason: '',
    answer: '',
    command: undefined,
  })
  return {
    view: async () => ({
      standing: {
        state: 'running',
        waitingEvents: 0,
        isAtTail: true,
        requestsUnderWay: 0,
        deliveredAtMs: clock.now(),
        failingSinceMs: undefined,
        nextTryAtMs: undefined,
        missedAtMost: 0,
        eventsDelivered: 1,
        eventsSkipped: 0,
      },
      deliveries: [delivered()],
    }),
    test: async () => delivered(),
    eventTimeMs: async (_organizationId, eventId) => (eventId === '1-1' ? clock.now() - 60_000 : undefined),
  }
}
