/** The clients of a load, on each node the same ones. */
import { Account } from './account.ts'
import { CommandSender, NetworkServer } from './command-clients.ts'
import { CommandAccount } from './command-account.ts'
import { ClusterPublisher } from './cluster-publisher.ts'
import { ClusterReader } from './cluster-reader.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { Deployment, Place } from './deployment.ts'
import type { FaultsFound } from './faults-found.ts'
import type { Version } from '../support/wire-client.ts'

export interface LoadOptions {
  readonly nodes: readonly ClusterNode[]
  readonly deployment: Deployment
  readonly faults: FaultsFound
  /** Messages a second of each publisher; a node has two of them. */
  readonly perSecond?: number
}

/** The publishers of a place, and those who read all of its events. */
export interface Traffic {
  readonly account: Account
  /** In the order of their numbers in the account. */
  readonly publishers: readonly ClusterPublisher[]
  readonly readers: readonly ClusterReader[]
}

export interface LoadClients {
  readonly own: Traffic
  /** Another organization's, of which the first one's readers may see nothing. */
  readonly neighbour: Traffic
  readonly roamer: ClusterReader
  /** The members of one shared subscription. */
  readonly members: readonly ClusterReader[]
  readonly senders: readonly CommandSender[]
  readonly networkServer: NetworkServer
  readonly commands: CommandAccount
}

const PER_SECOND = 20
const COMMAND_MS = 1_000

export function createLoadClients(options: LoadOptions): LoadClients {
  const { nodes, deployment, faults } = options
  const { place, neighbour, networkServer, commandTopics } = deployment
  const own = new PlaceClients('own', place, options)
  const other = new PlaceClients('neighbour', neighbour, options)
  const commands = new CommandAccount(faults)
  const numbers = nodes.map((_, number) => number)
  // Before the readers, so that they owe nothing to each other.
  const publishers = numbers.flatMap((number) => [
    own.publisher(1, number, 5),
    own.publisher(2, number, number % 2 === 0 ? 4 : 5),
  ])
  const roamer = own.reader('roaming', 2, 0, 5)
  const readers = [
    roamer,
    ...numbers.flatMap((number) => [
      own.reader(`${number}-1`, 1, number, number % 2 === 0 ? 5 : 4),
      own.reader(`${number}-2`, 2, number, 5),
    ]),
  ]
  const members = own.group(numbers)
  const at = (home: number) => ({ home, nodes, account: commands, version: 5 as const })
  return {
    own: { account: own.account, publishers, readers },
    neighbour: {
      account: other.account,
      publishers: [other.publisher(1, nodes.length - 1, 5)],
      readers: [other.reader('neighbour', 1, 0, 5)],
    },
    roamer,
    members,
    senders: numbers.map(
      (number) =>
        new CommandSender({
          ...at(number),
          name: `sender-${number}`,
          login: place.integrator,
          topicNames: commandTopics,
          intervalMs: COMMAND_MS,
        }),
    ),
    networkServer: new NetworkServer({ ...at(0), name: 'network-server', login: networkServer }),
    commands,
  }
}

/** Makes the clients of one place. */
class PlaceClients {
  readonly account: Account
  readonly #name: string
  readonly #place: Place
  readonly #options: LoadOptions

  constructor(name: string, place: Place, options: LoadOptions) {
    this.account = new Account(options.faults)
    this.#name = name
    this.#place = place
    this.#options = options
  }

  publisher(qos: 1 | 2, home: number, version: Version): ClusterPublisher {
    const { nodes, deployment, perSecond = PER_SECOND } = this.#options
    return new ClusterPublisher({
      name: `publisher-${this.#name}-${home}-${qos}`,
      home,
      nodes,
      account: this.account,
      qos,
      version,
      login: deployment.networkServer,
      topicNames: this.#place.eventTopics,
      intervalMs: 1_000 / perSecond,
    })
  }

  reader(name: string, qos: 1 | 2, home: number, version: Version): ClusterReader {
    const { eventFilter } = this.#place
    const received = this.account.addReader(`reader-${name}`, qos)
    return new ClusterReader({
      ...this.#readerOptions(`reader-${name}`, home),
      qos,
      version,
      received,
      topicFilter: eventFilter,
    })
  }

  /** A shared subscription with a member at each of these nodes. */
  group(homes: readonly number[]): ClusterReader[] {
    const received = this.account.addReader('group', 1, true)
    const topicFilter = `$share/group/${this.#place.eventFilter}`
    return homes.map(
      (home) =>
        new ClusterReader({
          ...this.#readerOptions(`member-${home}`, home),
          qos: 1,
          version: 5,
          received,
          topicFilter,
        }),
    )
  }

  #readerOptions(name: string, home: number) {
    const { integrator: login, ownTopics } = this.#place
    return { name, home, nodes: this.#options.nodes, account: this.account, login, ownTopics }
  }
}
