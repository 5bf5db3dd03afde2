/** A scenario of the acceptance run, and the stage that it plays on. */
import type { IConnectPacket } from 'mqtt-packet'
import type { Random } from '../support/random.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import type { Cluster } from './cluster.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { Deployment } from './deployment.ts'
import type { FaultsFound } from './faults-found.ts'
import type { Load } from './load.ts'

/** One scenario. Each has a number that stays. */
export interface Scenario {
  readonly number: number
  readonly title: string
  /** The fewest nodes with which it says anything. */
  readonly nodes: 1 | 2 | 3
  /** The reason for which it can't run on this machine; undefined: it can. */
  readonly impossible?: string | undefined
  run(stage: Stage): Promise<void>
}

const SESSION_SECONDS = 300

export interface StageOptions {
  readonly cluster: Cluster
  readonly deployment: Deployment
  readonly load: Load
  readonly faults: FaultsFound
  readonly random: Random
  /** Hears each measurement. */
  readonly say: (line: string) => void
  /** Each bar is allowed so many times over. */
  readonly barFactor: number
}

/** A client of a scenario's own. */
export interface ClientOptions {
  readonly clientId: string
  readonly version?: Version
  /** Default: that of the integrator. */
  readonly login?: Login
  /** False: the client has a Session that stays. */
  readonly clean?: boolean
  readonly will?: IConnectPacket['will']
}

export class Stage {
  readonly cluster: Cluster
  readonly deployment: Deployment
  readonly load: Load
  readonly faults: FaultsFound
  readonly random: Random
  readonly #say: (line: string) => void
  readonly #barFactor: number
  readonly #clients: WireClient[] = []
  #serial = 0

  constructor({ cluster, deployment, load, faults, random, say, barFactor }: StageOptions) {
    this.cluster = cluster
    this.deployment = deployment
    this.load = load
    this.faults = faults
    this.random = random
    this.#say = say
    this.#barFactor = barFactor
  }

  get nodes(): readonly ClusterNode[] {
    return this.cluster.nodes
  }

  /** The node at a place of a ring, so that each number names one. */
  node(place: number): ClusterNode {
    return this.nodes[place % this.nodes.length] as ClusterNode
  }

  /** The place of a node, by chance. */
  anyPlace(): number {
    return Math.floor(this.random() * this.nodes.length)
  }

  /** One of these, by chance. */
  any<T>(things: readonly T[]): T {
    return things[Math.floor(this.random() * things.length)] as T
  }

  /** Counts a missed bar when the measurement is above it. */
  bar(title: string, measured: number, most: number, unit = 'ms'): void {
    const rounded = Number.isFinite(measured) ? String(Math.round(measured * 10) / 10) : 'never'
    const words = `${title}: ${rounded} ${unit} (at most ${most})`
    this.#say(words)
    if (!(measured <= most * this.#barFactor)) this.faults.add('bars', words)
  }

  /** Tells of a measurement that has no bar. */
  note(words: string): void {
    this.#say(words)
  }

  /** Counts a missed bar when something that must be so is not. */
  must(isSo: boolean, title: string): void {
    if (!isSo) this.faults.add('bars', title)
  }

  /** A name that no other has in this run. */
  unique(word: string): string {
    this.#serial += 1
    return `${word}-${this.#serial}`
  }

  /** Connects a client, which ends with the scenario. */
  async connect(
    node: ClusterNode,
    { clientId, version = 5, login = this.deployment.place.integrator, clean = true, will }: ClientOptions,
  ): Promise<{ readonly client: WireClient; readonly isSessionPresent: boolean }> {
    const client = await WireClient.open(node, version)
    this.#clients.push(client)
    const properties = version === 5 && !clean ? { properties: { sessionExpiryInterval: SESSION_SECONDS } } : {}
    client.send(
      client.connectPacket(login, { clientId, clean, ...properties, ...(will === undefined ? {} : { will }) }),
    )
    const connack = await client.next()
    if (connack?.cmd !== 'connack' || (connack.reasonCode ?? connack.returnCode) !== 0) {
      throw new Error(`${clientId} was not accepted by ${node.name}: ${JSON.stringify(connack)}`)
    }
    return { client, isSessionPresent: connack.sessionPresent }
  }

  /** A network server at the node, which may publish the events of all devices. */
  async connectPublisher(node: ClusterNode, clientId = this.unique('scene-publisher')): Promise<WireClient> {
    return (await this.connect(node, { clientId, login: this.deployment.networkServer })).client
  }

  /** The topic of events of a device that only this scenario has. */
  async newTopic(): Promise<string> {
    return `${this.deployment.place.ownTopics}device/${await this.deployment.newDevice()}/event/join`
  }

  /** Ends the scenario's clients. */
  end(): void {
    for (const client of this.#clients.splice(0)) client.destroy()
  }
}
