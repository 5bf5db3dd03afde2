/**
 * Subscribers that see all messages delivered in the access matrix, and report those that should
 * not have been.
 */
import assert from 'node:assert/strict'
import type { IPublishPacket, Packet } from 'mqtt-packet'
import type { Credential, MatrixDeployment } from './access-matrix-deployment.ts'
import type { RunningService } from './running-service.ts'
import { WireClient } from './wire-client.ts'

/** The last message: when it has come, no earlier message is still on its way. */
const LAST = 'the last'
/**
 * The time for the commands that wait for their turn: a device gets four in a second while its
 * network server reports the fate of none.
 */
const PACED_MS = 60_000
const COMMANDS = 'application/+/device/+/command/down'

export class Witnesses {
  readonly #service: RunningService
  readonly #deployment: MatrixDeployment
  readonly #clients: { readonly client: WireClient; readonly applications: readonly string[] }[] = []
  /** Clients of the matrix's own subscriptions, granted and refused ones. */
  readonly #watched: { readonly client: WireClient; readonly isGranted: boolean; readonly title: string }[] = []
  readonly #titles = new Map<string, string>()
  /** The Topic Names under which the granted messages are delivered, by serial. */
  readonly #granted = new Map<string, string>()

  /** Subscribes to all events and commands of both organizations, each by a credential that may. */
  static async open(service: RunningService, deployment: MatrixDeployment): Promise<Witnesses> {
    const witnesses = new Witnesses(service, deployment)
    const { applicationA, otherApplicationA, applicationB } = deployment.places
    const ofA = [applicationA, otherApplicationA]
    const ofB = [applicationB]
    await witnesses.#subscribe('the token of a member of A', ofA.map(eventsOf), ofA)
    await witnesses.#subscribe('the token of a member of B', ofB.map(eventsOf), ofB)
    await witnesses.#subscribe('the service credential of A', [COMMANDS], ofA)
    await witnesses.#subscribe('the service credential of B', [COMMANDS], ofB)
    // Each organization has its own network server, so that of the deployment gets no command.
    const everywhere = await witnesses.#connect('the service credential of the deployment')
    assert.equal(await everywhere.subscribe(COMMANDS, 0), 0)
    witnesses.watch(everywhere, false, 'the service credential of the deployment')
    return witnesses
  }

  private constructor(service: RunningService, deployment: MatrixDeployment) {
    this.#service = service
    this.#deployment = deployment
  }

  /**
   * A payload, valid as a command, that no other message has. `topicName`: the message is
   * delivered, once, under this name. Undefined: nobody gets it.
   */
  marked(topicName: string | undefined, title: string): string {
    const serial = String(this.#titles.size)
    this.#titles.set(serial, title)
    if (topicName !== undefined) this.#granted.set(serial, topicName)
    return payloadOf(serial)
  }

  /** At the end, checks whether this client got messages or none. */
  watch(client: WireClient, isGranted: boolean, title: string): void {
    this.#watched.push({ client, isGranted, title })
  }

  /**
   * Publishes a last event and command of every device, and compares the delivered messages with
   * the granted ones.
   */
  async testify(): Promise<void> {
    await this.#publishTheLast()
    const delivered: string[] = []
    const endMs = performance.now() + PACED_MS
    do await this.#collect(delivered)
    while (this.#missing(delivered).length > 0 && performance.now() < endMs)
    // The absence of all others is proved by one more round trip.
    await this.#collect(delivered)
    const wrong = delivered.filter((serial) => !this.#granted.has(serial)).map((serial) => this.#titles.get(serial))
    assert.deepEqual(wrong, [], 'delivered although not granted')
    const missing = this.#missing(delivered)
    assert.deepEqual(
      missing.map((serial) => this.#titles.get(serial)),
      [],
      'granted and not delivered',
    )
    assert.equal(delivered.length, this.#granted.size, 'delivered more than once')
    for (const { client, isGranted, title } of this.#watched) {
      const packets = await client.ping()
      assert.ok(packets !== 'closed', title)
      if (isGranted) assert.notDeepEqual(packets, [], `${title}: nothing came of what was granted`)
      else assert.deepEqual(packets.map(serialOf), [], `${title}: delivered to a subscription that was refused`)
    }
  }

  close(): void {
    for (const { client } of [...this.#clients, ...this.#watched]) client.destroy()
  }

  #missing(delivered: readonly string[]): readonly string[] {
    return [...this.#granted.keys()].filter((serial) => !delivered.includes(serial))
  }

  /**
   * Adds the serials of the messages that have come, each by its own name to its own organization.
   */
  async #collect(delivered: string[]): Promise<void> {
    for (const { client, applications } of this.#clients) {
      for (const packet of await pinged(client)) {
        const serial = isUnconfirmed(packet) ? LAST : serialOf(packet)
        if (serial === LAST) continue
        const { topic } = packet as IPublishPacket
        const title = this.#titles.get(serial) ?? serial
        assert.ok(applications.includes(topic.split('/')[1] ?? ''), `${title}: ${topic} came to another organization`)
        assert.equal(topic, this.#granted.get(serial), title)
        delivered.push(serial)
      }
    }
  }

  async #subscribe(name: string, topicFilters: readonly string[], applications: readonly string[]): Promise<void> {
    const client = await this.#connect(name)
    for (const topicFilter of topicFilters) assert.equal(await client.subscribe(topicFilter, 0), 0)
    this.#clients.push({ client, applications })
  }

  async #connect(name: string): Promise<WireClient> {
    const credential = this.#deployment.credentials.find((candidate) => candidate.name === name) as Credential
    const client = await WireClient.open(this.#service, 5)
    assert.equal(await client.connect(credential.login), 0)
    return client
  }

  /** At QoS 2, because its exchange ends only after all earlier messages have passed. */
  async #publishTheLast(): Promise<void> {
    const { applicationA, otherApplicationA, applicationB, deviceA, otherDeviceA, deviceB } = this.#deployment.places
    const devices = [
      [applicationA, deviceA, 'the token of a member of A'],
      [otherApplicationA, otherDeviceA, 'the token of a member of A'],
      [applicationB, deviceB, 'the token of a member of B'],
    ] as const
    for (const [application, device, member] of devices) {
      const root = `application/${application}/device/${device}`
      await this.#exchange('the service credential of the deployment', `${root}/event/up`)
      await this.#exchange(member, `${root}/command/down`)
    }
  }

  async #exchange(name: string, topicName: string): Promise<void> {
    using client = await this.#connect(name)
    for (const qos of [0, 1, 2] as const) client.send(client.publishPacket(topicName, payloadOf(LAST), qos))
    assert.equal((await client.next())?.cmd, 'puback')
    const pubrec = await client.next()
    assert.ok(pubrec?.cmd === 'pubrec' && pubrec.messageId !== undefined)
    client.send({ cmd: 'pubrel', messageId: pubrec.messageId })
    assert.equal((await client.next())?.cmd, 'pubcomp')
  }
}

/** The packets that have come since the last time. */
async function pinged(client: WireClient): Promise<readonly Packet[]> {
  const packets = await client.ping()
  assert.ok(packets !== 'closed', 'a witness was disconnected')
  return packets
}

function eventsOf(application: string): string {
  return `application/${application}/device/+/event/+`
}

function payloadOf(serial: string): string {
  return JSON.stringify({ confirmed: false, fPort: 1, data: Buffer.from(serial).toString('base64') })
}

/**
 * True for the service's own error event about a command: no network server here reports the fate
 * of commands.
 */
function isUnconfirmed(packet: Packet): boolean {
  return (
    packet.cmd === 'publish' && packet.topic.endsWith('/event/error') && textOf(packet).includes('command_unconfirmed')
  )
}

function textOf(packet: Packet): string {
  return String('payload' in packet ? packet.payload : '')
}

function serialOf(packet: Packet): string {
  assert.equal(packet.cmd, 'publish')
  const { data } = JSON.parse(textOf(packet)) as { readonly data: string }
  return Buffer.from(data, 'base64').toString()
}
