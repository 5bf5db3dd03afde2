/** The webhooks of the service, wired to its registry, its log and its nodes. */
import { tenantOf } from '../access/holders.ts'
import { placeOfId } from '../broker/ports/message.ts'
import { partitionOfTopic } from '../broker/sessions/subscription-index.ts'
import { BoundedCache } from '../bounded-cache.ts'
import { systemClock } from '../clock.ts'
import type { WebhookViews } from '../http/tenants/webhooks.ts'
import type { Registry } from '../identity/registry.ts'
import { parseTopic } from '../lorawan/topics.ts'
import { CallableAddresses } from '../lorawan/webhooks/callable-addresses.ts'
import type { WebhookRegistry } from '../lorawan/webhooks/hook-ports.ts'
import { HomesOfWebhooks } from '../lorawan/webhooks/webhook-homes.ts'
import { WebhookClient } from '../lorawan/webhooks/webhook-request.ts'
import { Webhooks } from '../lorawan/webhooks/webhooks.ts'
import type { WebhookView } from '../lorawan/webhooks/webhooks.ts'
import type { Nodes } from '../nodes.ts'
import { version } from '../version.ts'
import type { Parts, StartContext } from './parts.ts'

/** How often a node of several looks which webhooks it runs. */
const LOOK_EVERY_MS = 5_000
/** The time for the other nodes to show a webhook. */
const VIEW_MS = 3_000
const VIEW = 'webhooks.view'
/** Devices whose tags are remembered, for webhooks that ask for tags. */
const MAXIMUM_TAGGED = 20_000

/**
 * Puts the webhooks together; they follow the registry from here on. `load` and `open` are for
 * after the broker's start.
 */
export function openWebhooks(
  { settings, log, shutdown, nodes }: StartContext,
  { registry, engine, state, commandWays }: Pick<Parts, 'registry' | 'engine' | 'state' | 'commandWays'>,
): Webhooks {
  const addresses = new CallableAddresses(settings.webhookAllowedNetworks)
  const userAgent = `Fieldgate/${version}`
  const webhooks = new Webhooks(
    {
      log: engine,
      partitionOf: (topicPrefix) => partitionOfTopic(topicPrefix, engine.partitions),
      state,
      registry: webhookRegistryOf(registry),
      commands: commandWays.commands,
      tenantOf,
      createClient: () => new WebhookClient({ addresses, clock: systemClock, userAgent }),
      clock: systemClock,
      random: Math.random,
      logger: log.child({ room: 'lorawan' }),
    },
    nodes && new HomesOfWebhooks(nodes, systemClock),
  )
  const unfollow = followRegistry(registry, webhooks)
  const looking = nodes && followNodes(nodes, webhooks)
  shutdown.add('webhooks', () => {
    unfollow()
    clearInterval(looking)
    return webhooks.close()
  })
  return webhooks
}

/** The webhooks as the API shows them, whichever node runs them. */
export function createWebhookViews(
  { webhooks, engine, registry }: Pick<Parts, 'webhooks' | 'engine' | 'registry'>,
  nodes: Nodes | undefined,
): WebhookViews {
  return {
    async view(webhookId) {
      const here = webhooks.view(webhookId)
      if (here !== undefined || nodes === undefined) return here
      const { answers } = await nodes.bus.gather(VIEW, Buffer.from(webhookId), VIEW_MS)
      const answer = answers.find(({ body }) => body.length > 0)
      return answer && (JSON.parse(answer.body.toString()) as WebhookView)
    },
    test: (webhook) => webhooks.test(webhook),
    async eventTimeMs(organizationId, eventId) {
      const place = placeOfId(eventId)
      if (place === undefined || place.partition >= engine.partitions) return undefined
      if (place.offset >= engine.tail(place.partition)) return undefined
      const { messages } = await engine.read(place.partition, place.offset, 1)
      const [message] = messages
      const topic = message === undefined ? undefined : parseTopic(message.topicName)
      if (message?.offset !== place.offset || topic?.kind !== 'event') return undefined
      const owner = await registry.directory.organizationOf(topic.applicationId)
      return owner === organizationId ? message.ownedAtMs : undefined
    },
  }
}

function webhookRegistryOf({ webhooks, applications, devices, directory }: Registry): WebhookRegistry {
  const tags = new BoundedCache<Readonly<Record<string, string>>>(MAXIMUM_TAGGED)
  let knownAt = directory.devicesVersion
  return {
    all: () => webhooks.all(),
    find: (id) => webhooks.find(id),
    async pause({ id, organizationId }, pause) {
      await webhooks.pause(organizationId, id, pause, { userId: null })
    },
    applicationsOf: (organizationId) => directory.applicationsOf(organizationId),
    applicationCreatedAtMs: async (applicationId) => (await applications.get(applicationId))?.createdAtMs,
    async tagsOf(devEui) {
      if (knownAt !== directory.devicesVersion) {
        knownAt = directory.devicesVersion
        tags.clear()
      }
      const known = tags.get(devEui)
      if (known !== undefined) return known
      const asked = knownAt
      const found = (await devices.get(devEui))?.tags ?? {}
      if (asked === directory.devicesVersion) tags.set(devEui, found)
      return found
    },
    placeOf: async (devEui) => directory.device(devEui),
  }
}

function followRegistry({ changes }: Registry, webhooks: Webhooks): () => void {
  return changes.subscribe((change) => {
    const { kind } = change
    if (kind === 'webhook_changed') void webhooks.changed(change.webhookId)
    if (kind === 'application_created' || kind === 'application_removed') {
      void webhooks.applicationsChanged(change.organizationId)
    }
    if (kind === 'resynchronized') void webhooks.resynchronize()
  })
}

/** Takes the webhooks of dead nodes over, and shows those that run here to the other nodes. */
function followNodes(nodes: Nodes, webhooks: Webhooks): NodeJS.Timeout {
  nodes.bus.serve(VIEW, (body) => {
    const view = webhooks.view(body.toString())
    return view === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(view))
  })
  nodes.onInherited((inheritance) => webhooks.load((prefix) => inheritance.load(prefix)))
  nodes.onGone(() => void webhooks.settle())
  return setInterval(() => void webhooks.settle(), LOOK_EVERY_MS)
}
