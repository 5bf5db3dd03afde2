/** Watches for the first event of the demonstration, as an MQTT client. */
import { readFile } from 'node:fs/promises'
import { given } from '../../given.ts'
import { connectAsync } from 'mqtt'

/**
 * Resolves with whether an event reaches a subscriber within the time. The subscriber connects as
 * any client does: with TLS and a token. An abort resolves with false.
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
      ...given({ ca: options.caFile === undefined ? undefined : await readFile(options.caFile) }),
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
