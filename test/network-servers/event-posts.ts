/**
 * Receives the events that ChirpStack's own HTTP integration posts. The tests compare Fieldgate's
 * events with them.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { within } from '../support/bounded-wait.ts'

export interface EventPost {
  /** `up`, `join` ... */
  readonly kind: string
  /** The body as it came: JSON. */
  readonly body: string
}

export class EventPosts {
  readonly #server: Server
  readonly #posts: EventPost[] = []
  readonly #watchers = new Set<() => void>()

  static async open(): Promise<EventPosts> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new EventPosts(server)
  }

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => {
      const kind = new URL(request.url ?? '', 'http://localhost').searchParams.get('event') ?? ''
      void text(request).then((body) => {
        this.#posts.push({ kind, body })
        response.writeHead(200).end()
        for (const watcher of this.#watchers) watcher()
      })
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`
  }

  /** All posts, in order. */
  get all(): readonly EventPost[] {
    return this.#posts
  }

  /** All posts about a device, once there are at least `count`. */
  async settled(devEui: string, count: number): Promise<readonly EventPost[]> {
    const { promise, resolve } = Promise.withResolvers<readonly EventPost[]>()
    const look = (): void => {
      const found = this.#posts.filter(({ body }) => body.includes(devEui))
      if (found.length >= count) resolve(found)
    }
    this.#watchers.add(look)
    look()
    try {
      return await within(promise, `the posts of ChirpStack's HTTP integration about ${devEui}`)
    } finally {
      this.#watchers.delete(look)
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
