/**
 * The organization next door that behaves: 50 events and one command a second at QoS 1, and one
 * HTTP request a second. It notes each message that is lost, refused or late.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts'
import type { Percentiles } from '../../bench/load/latency-histogram.ts'
import type { Administration } from '../support/administration.ts'
import { HttpsClient } from '../support/https-client.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient, codeOf } from '../support/wire-client.ts'

const EVENTS_PER_SECOND = 50
const BEAT_MS = 1000 / EVENTS_PER_SECOND
const DEVICES = 20
/** A message that is not there by then counts as lost. */
const LOST_AFTER_MS = 20_000
const POLL_MS = 10

/** The figures of one stretch of time. */
export interface Stretch {
  readonly events: number
  /** From PUBLISH of the network server to PUBLISH at the integrator, in ms. */
  readonly latency: Percentiles
  readonly commandLatency: Percentiles
  readonly httpLatency: Percentiles
  /** Sentences about messages that were lost or refused, and connections that ended. */
  readonly complaints: readonly string[]
}

interface Sent {
  readonly atMs: number
  readonly stretch: Measured
}

/** The open figures of a stretch. */
class Measured {
  events = 0
  readonly latency = new LatencyHistogram()
  readonly commandLatency = new LatencyHistogram()
  readonly httpLatency = new LatencyHistogram()
  readonly complaints: string[] = []
}

export class GoodNeighbour {
  readonly #networkServer: WireClient
  readonly #integrator: WireClient
  readonly #http: HttpsClient
  readonly #session: string
  readonly #topics: readonly string[]
  /** By the number in its payload: events and commands that have not arrived. */
  readonly #underWay = new Map<number, Sent>()
  #serial = 0
  #stretch = new Measured()
  #isEnding = false
  #work: Promise<unknown> = Promise.resolve()

  /** Makes the organization with its devices, connects its two clients and begins. */
  static async begin(service: RunningService, administration: Administration): Promise<GoodNeighbour> {
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId)
    const devices: string[] = []
    for (let index = 0; index < DEVICES; index += 1) devices.push(await administration.device(applicationId))
    const person = await administration.person([{ organizationId, isAdmin: true }])
    const credential = await administration.serviceCredential(organizationId)
    const token = await administration.brokerToken(person.session, organizationId)
    const networkServer = await connected(service, {
      username: credential.userName,
      password: credential.password,
    })
    await networkServer.subscribe('application/+/device/+/command/down', 1)
    const integrator = await connected(service, { username: token, password: 'default' })
    await integrator.subscribe(`application/${applicationId}/device/+/event/up`, 1)
    const topics = devices.map((devEui) => `application/${applicationId}/device/${devEui}`)
    const http = new HttpsClient(service.https, service.ca)
    const neighbour = new GoodNeighbour({ networkServer, integrator, http, session: person.session, topics })
    neighbour.#begin()
    return neighbour
  }

  private constructor(parts: {
    readonly networkServer: WireClient
    readonly integrator: WireClient
    readonly http: HttpsClient
    readonly session: string
    readonly topics: readonly string[]
  }) {
    this.#networkServer = parts.networkServer
    this.#integrator = parts.integrator
    this.#http = parts.http
    this.#session = parts.session
    this.#topics = parts.topics
  }

  /** Measures for so long, and waits until all that was sent in that time has arrived. */
  async measure(ms: number): Promise<Stretch> {
    const stretch = new Measured()
    this.#stretch = stretch
    await sleep(ms)
    this.#stretch = new Measured()
    const endsAtMs = performance.now() + LOST_AFTER_MS
    const isUnderWay = (): boolean => [...this.#underWay.values()].some((sent) => sent.stretch === stretch)
    while (isUnderWay() && performance.now() < endsAtMs) await sleep(POLL_MS)
    const lost = [...this.#underWay.values()].filter((sent) => sent.stretch === stretch).length
    if (lost > 0) stretch.complaints.push(`${lost} messages had not arrived after ${LOST_AFTER_MS} ms`)
    return {
      events: stretch.events,
      latency: stretch.latency.percentiles(),
      commandLatency: stretch.commandLatency.percentiles(),
      httpLatency: stretch.httpLatency.percentiles(),
      complaints: stretch.complaints,
    }
  }

  /** Ends its clients. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#networkServer.destroy()
    this.#integrator.destroy()
    await this.#work
    this.#http.close()
  }

  #begin(): void {
    this.#work = Promise.all([
      this.#receive(this.#networkServer, 'network server'),
      this.#receive(this.#integrator, 'integrator'),
      this.#send(),
      this.#ask(),
    ])
  }

  async #send(): Promise<void> {
    const startedAtMs = performance.now()
    for (let beat = 0; !this.#isEnding; beat += 1) {
      const device = this.#topics[beat % this.#topics.length] as string
      this.#publish(this.#networkServer, `${device}/event/up`, (serial) => ({ serial }))
      this.#stretch.events += 1
      if (beat % EVENTS_PER_SECOND === 0) {
        const other = this.#topics[(beat / EVENTS_PER_SECOND) % this.#topics.length] as string
        this.#publish(this.#integrator, `${other}/command/down`, (serial) => ({
          confirmed: false,
          fPort: 10,
          data: Buffer.from(String(serial)).toString('base64'),
        }))
      }
      await sleep(Math.max(startedAtMs + (beat + 1) * BEAT_MS - performance.now(), 0))
    }
  }

  #publish(client: WireClient, topicName: string, payload: (serial: number) => object): void {
    const serial = (this.#serial += 1)
    this.#underWay.set(serial, { atMs: performance.now(), stretch: this.#stretch })
    client.send(client.publishPacket(topicName, JSON.stringify(payload(serial)), 1))
  }

  async #receive(client: WireClient, name: string): Promise<void> {
    for (;;) {
      const packet = await nextOf(client)
      if (packet === undefined) break
      if (packet.cmd === 'publish') {
        if (packet.messageId !== undefined) client.send({ cmd: 'puback', messageId: packet.messageId })
        this.#arrived(packet.payload.toString())
      } else if (packet.cmd === 'puback' && codeOf(packet) >= 0x80) {
        this.#complain(`the ${name} got ${JSON.stringify(packet)}`)
      } else if (packet.cmd === 'disconnect') {
        this.#complain(`the ${name} was disconnected: ${JSON.stringify(packet)}`)
      }
    }
    if (!this.#isEnding) this.#complain(`the connection of the ${name} ended`)
  }

  #arrived(payload: string): void {
    // A command has another id when it arrives; its bytes are the same.
    const { serial, data } = JSON.parse(payload) as { readonly serial?: number; readonly data?: string }
    const key = serial ?? Number(Buffer.from(data ?? '', 'base64').toString())
    const sent = this.#underWay.get(key)
    if (sent === undefined) return
    this.#underWay.delete(key)
    const ms = performance.now() - sent.atMs
    if (serial === undefined) sent.stretch.commandLatency.record(ms)
    else sent.stretch.latency.record(ms)
  }

  async #ask(): Promise<void> {
    while (!this.#isEnding) {
      const atMs = performance.now()
      const stretch = this.#stretch
      try {
        const { status } = await this.#http.ask('GET', '/api/devices?limit=20', { token: this.#session })
        stretch.httpLatency.record(performance.now() - atMs)
        if (status !== 200) stretch.complaints.push(`HTTP answered ${status}`)
      } catch (error) {
        if (!this.#isEnding) stretch.complaints.push(`HTTP: ${String(error)}`)
      }
      await sleep(Math.max(1000 - (performance.now() - atMs), 0))
    }
  }

  #complain(text: string): void {
    this.#stretch.complaints.push(text)
  }
}

async function connected(
  service: Pick<RunningService, 'mqttsPort' | 'ca'>,
  login: { readonly username: string; readonly password?: string },
): Promise<WireClient> {
  const client = await WireClient.open(service, 5)
  const code = await client.connect(login)
  if (code !== 0) throw new Error(`CONNACK ${code}`)
  return client
}

/** Waits without a bound of its own: a stretch has one. */
async function nextOf(client: WireClient): ReturnType<WireClient['next']> {
  for (;;) {
    try {
      return await client.next()
    } catch {
      // Nothing came for the longest wait of a test.
    }
  }
}
