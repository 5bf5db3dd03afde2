/** The node of commands: each message is one command, and each step of its fate is a message. */
'use strict'

/** The outputs, in their order. */
const STEPS = ['accepted', 'sent', 'acknowledged']

module.exports = function register(RED) {
  function CommandNode(config) {
    RED.nodes.createNode(this, config)
    const node = this
    const deployment = RED.nodes.getNode(config.deployment)
    let isClosed = false
    node.on('close', () => {
      isClosed = true
    })

    node.on('input', async (message, send, done) => {
      let step = STEPS[0]
      try {
        if (deployment === null) throw new Error('the node has no deployment')
        const client = await deployment.client()
        const devEui = message.devEui ?? config.device
        if (typeof devEui !== 'string' || devEui === '')
          throw new Error('the message has no devEui, and the node neither')
        const command = client.device(devEui).send(commandOf(config, message))
        for (step of command.isConfirmed ? STEPS : STEPS.slice(0, 2)) {
          node.status({ fill: 'yellow', shape: 'dot', text: `waiting until ${step}` })
          const answer = await command[step]
          // The flows of a closed node are gone.
          if (isClosed) return done()
          const told = { ...message, command: { id: command.id, devEui: command.devEui, step, ...answer } }
          send(STEPS.map((each) => (each === step ? told : null)))
        }
        node.status({ fill: 'green', shape: 'dot', text: step })
        done()
      } catch (error) {
        node.status({ fill: 'red', shape: 'dot', text: error.code ?? 'failed' })
        message.command = { step, code: error.code ?? 'failed', id: error.commandId }
        done(error)
      }
    })
  }

  RED.nodes.registerType('fieldgate-command', CommandNode)
}

/**
 * The command in a message: an object with `fPort` and `data` or `object` is one already. Bytes and
 * other objects get the settings of the node.
 */
function commandOf({ fPort, confirmed }, { payload }) {
  const common = { fPort: Number(fPort), confirmed: confirmed === true }
  if (Buffer.isBuffer(payload) || payload instanceof Uint8Array) return { ...common, data: payload }
  if (typeof payload === 'string') return { ...common, data: payload }
  if (typeof payload !== 'object' || payload === null) throw new Error('payload must be bytes, base64 or an object')
  if ('data' in payload || 'object' in payload) return { ...common, ...payload }
  return { ...common, object: payload }
}
