import { readFile } from 'node:fs/promises'
import { connectAsync } from 'mqtt'

/**
 * Whether an event reaches a subscriber within the time, by the way that any client takes: TLS, the
 * token, a subscription. An abort answers no.
 */
export async function isEventReceived(options: {
  readonly url: string
  readonly caFile: string | undefined
  readonly jwtMqttAuth: string
  readonly topicFilter: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}): Promise<boolean> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const give = () => resolve(false)
  if (signal.aborted) return false
  signal.addEventListener('abort', give)
  try {
    const client = await connectAsync(options.url, {
      protocolVersion: 5,
      clientId: `fieldgate-demo-${process.pid}`,
      username: options.jwtMqttAuth,
      password: 'default',
      reconnectPeriod: 0,
      connectTimeout: options.timeoutMs,
      ...(options.caFile === undefined ? {} : { ca: await readFile(options.caFile) }),
    })
    try {
      client.on('message', () => resolve(true))
      client.on('close', give)
      client.on('error', give)
      await client.subscribeAsync(options.topicFilter, { qos: 0 })
      return await promise
    } finally {
      await client.endAsync(true)
    }
  } catch {
    return false
  } finally {
    signal.removeEventListener('abort', give)
  }
}
