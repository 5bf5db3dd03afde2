/** The node of events: each event is one message, once, in the order of its device. */
'use strict'
const { join } = require('node:path')

/** The wait for a confirmation before the same event is sent again. */
const CONFIRMATION_MS = 30_000

module.exports = function register(RED) {
  function EventsNode(config) {
    RED.nodes.createNode(this, config)
    const node = this
    const deployment = RED.nodes.getNode(config.deployment)
    const closing = new AbortController()
    const { signal } = closing
    let count = 0
    /** Set while an event waits for its confirmation. */
    let confirm

    node.on('input', (message, _send, done) => {
      if (confirm?.(message.event?.id) !== true) node.warn('the message confirms no event that waits')
      done()
    })
    node.on('close', () => closing.abort())
    if (deployment === null) {
      node.status({ fill: 'red', shape: 'ring', text: 'no deployment' })
      return
    }

    deployment.keepRunning(node, signal, async (client) => {
      const { FilePositionStore } = await import('@fieldgate/sdk')
      const options = optionsOf(config, signal)
      if (options.session !== undefined) {
        // The place of a session is kept with the flows, so that a backup of Node-RED has both.
        const folder = join(RED.settings.userDir ?? '.', 'fieldgate')
        options.store = new FilePositionStore(join(folder, `${encodeURIComponent(options.session)}.positions`))
      }
      options.onMissed = (atMost) => node.warn(`the deployment lost up to ${atMost} events while Node-RED was away`)
      node.status({ fill: 'green', shape: 'dot', text: 'waiting for events' })
      await client.handle(options, async (event) => {
        await handOver(event)
        count += 1
        node.status({ fill: 'green', shape: 'dot', text: `${count} events, ${event.kind} of ${event.devEui}` })
      })
    })

    /** Sends the event on. Where it has to be confirmed, it is sent again until it is. */
    async function handOver(event) {
      for (let attempt = 1; ; attempt += 1) {
        const message = messageOf(event, attempt > 1)
        if (config.confirmed !== true) {
          node.send(message)
          return
        }
        const answered = confirmation(event.id)
        node.send(message)
        if (await answered) return
        if (signal.aborted) throw new Error('the node was closed')
        node.status({ fill: 'yellow', shape: 'dot', text: `not confirmed: ${event.kind} of ${event.devEui}` })
      }
    }

    /** Resolves with true when a message with the event's id comes back, and with false in time. */
    function confirmation(id) {
      return new Promise((resolve) => {
        const settle = (isConfirmed) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', stop)
          confirm = undefined
          resolve(isConfirmed)
        }
        const stop = () => settle(false)
        const timer = setTimeout(stop, CONFIRMATION_MS)
        signal.addEventListener('abort', stop, { once: true })
        confirm = (given) => {
          if (given !== id) return false
          settle(true)
          return true
        }
      })
    }
  }

  RED.nodes.registerType('fieldgate-events', EventsNode)
}

function optionsOf({ application, device, kinds, session, from }, signal) {
  const wanted = String(kinds ?? '')
    .split(/[\s,]+/)
    .filter((kind) => kind !== '')
  return {
    signal,
    ...(application ? { application } : {}),
    ...(device ? { device } : {}),
    ...(wanted.length > 0 ? { kinds: wanted } : {}),
    ...(session ? { session } : {}),
    ...(from ? { from } : {}),
  }
}

/** `payload` is what flows mostly need: the decoded object of an uplink, else the event's body. */
function messageOf(event, isRepeated) {
  const { applicationId, devEui, kind } = event
  const payload = kind === 'up' ? (event.object ?? Buffer.from(event.data)) : (event.body ?? Buffer.from(event.payload))
  return {
    topic: `application/${applicationId}/device/${devEui}/event/${event.publishedKind ?? kind}`,
    payload,
    event: { ...event },
    devEui,
    isRepeated,
  }
}
