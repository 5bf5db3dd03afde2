/** The configuration node: the address of a deployment, and the credential of this Node-RED. */
'use strict'
const { readFile } = require('node:fs/promises')

/** The wait before a refused or unreachable deployment is tried again. */
const TRY_AGAIN_MS = 30_000

module.exports = function register(RED) {
  function DeploymentNode(config) {
    RED.nodes.createNode(this, config)
    const node = this
    const closing = new AbortController()
    let opened

    async function open() {
      // The SDK is an ES module.
      const { connect } = await import('@fieldgate/sdk')
      const { apiKey, username, password } = node.credentials ?? {}
      const ca = config.ca ? await readFile(config.ca, 'utf8') : undefined
      return connect({
        url: config.url,
        ...(apiKey ? { apiKey } : { username, password }),
        ...(config.organization ? { organization: config.organization } : {}),
        ...(ca === undefined ? {} : { ca }),
        signal: closing.signal,
        log: ({ level, message, reason = '' }) => {
          if (level === 'warn' || level === 'error') node.warn(`${message} ${reason}`.trim())
        },
      })
    }

    /**
     * The client of the deployment, which all nodes share. Rejects where the deployment refuses; a
     * later call tries again.
     */
    node.client = () => {
      opened ??= open().catch((error) => {
        opened = undefined
        throw error
      })
      return opened
    }

    /**
     * Runs the work with the client until the node is closed. After a failure the work begins again,
     * a while later.
     */
    node.keepRunning = async (user, signal, work) => {
      while (!signal.aborted) {
        try {
          user.status({ fill: 'yellow', shape: 'ring', text: 'connecting' })
          await work(await node.client())
          return
        } catch (error) {
          if (signal.aborted) return
          user.status({ fill: 'red', shape: 'ring', text: error.code ?? 'failed' })
          user.error(error.message)
          await pause(TRY_AGAIN_MS, signal)
        }
      }
    }

    node.on('close', (done) => {
      closing.abort()
      const ending = opened ?? Promise.resolve()
      ending
        .then((client) => client?.close())
        .then(
          () => done(),
          () => done(),
        )
    })
  }

  RED.nodes.registerType('fieldgate-deployment', DeploymentNode, {
    credentials: {
      apiKey: { type: 'password' },
      username: { type: 'text' },
      password: { type: 'password' },
    },
  })
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
