/**
 * The nodes of a deployment, as the rooms see them. A node is one running process of Fieldgate. A
 * deployment of one node has none of this. `cluster/` has the nodes over NATS; tests have nodes
 * within one process.
 *
 * A thing that exists once in a deployment has a home: one node that keeps its state, and decides
 * for it. A Session, the downlink queue of an application and a shared subscription are such
 * things. Its home changes in two ways. A living home hands the thing over. When a node dies, one
 * living node becomes its heir: the heir is from then on the home of everything that the dead node
 * was home to.
 */

/** A running process of a node. */
export interface NodeId {
  /** The name that the operator gave the node. A later process of the node has the same name. */
  readonly name: string
  /** 16 hexadecimal digits, drawn when the process began. */
  readonly incarnation: string
}

/** A request to a node has no answer: the node is gone, or took too long. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  readonly node: NodeId
  readonly kind: string

  constructor(node: NodeId, kind: string) {
    super(`the node “${node.name}” did not answer (${kind})`)
    this.node = node
    this.kind = kind
  }
}

/** The handler of a request has thrown, or the node has no handler for it. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError'
  readonly node: NodeId
  readonly kind: string

  constructor(node: NodeId, kind: string, reason: string) {
    super(reason)
    this.node = node
    this.kind = kind
  }
}

/** The answers of all nodes that were asked. */
export interface Gathered {
  readonly answers: readonly { readonly from: NodeId; readonly body: Buffer }[]
  /** The nodes that did not answer in time, or refused. */
  readonly missing: readonly NodeId[]
}

/** Answers a request of another node. An error that it throws reaches the asker as a
 * RequestRefusedError. */
export type RequestHandler = (body: Buffer, from: NodeId) => Buffer | Promise<Buffer>

/**
 * Messages between the nodes. A message may get lost, and a request may be carried out though its
 * answer got lost. Messages of one node to another arrive in the order in which they were sent. The
 * kind of a message is a word of lower-case letters, digits, `.` and `-`.
 */
export interface Bus {
  readonly self: NodeId
  /**
   * Asks one node; also this one itself. Rejects with NoAnswerError after the time (ms), or as soon
   * as the node is known to be gone, and with RequestRefusedError. The body has at most 900,000
   * bytes.
   */
  request(to: NodeId, kind: string, body: Buffer, timeoutMs: number): Promise<Buffer>
  /** Asks all other living nodes. Never rejects. */
  gather(kind: string, body: Buffer, timeoutMs: number): Promise<Gathered>
  /** Answers requests of a kind from here on. A kind has one handler. */
  serve(kind: string, handler: RequestHandler): void
  /** Tells all other nodes. */
  cast(kind: string, body: Buffer): void
  /** Hears what other nodes tell all. A kind has one listener, which must not throw. */
  hear(kind: string, listener: (body: Buffer, from: NodeId) => void): void
}

/** The home of a thing, as the servers knew it when they were asked. */
export interface KnownHome {
  /** Undefined: the thing has no home. The node is alive, or is believed to be. */
  readonly node: NodeId | undefined
  /** Changes with each change of the thing's home. */
  readonly revision: number
}

/**
 * The homes of things, by keys such as `session/<key of the Session>`. The answer of a majority of
 * the servers counts, so two nodes never both take the same thing.
 */
export interface Homes {
  /**
   * Asks for the home of a thing. Waits while the thing's node is dead and has no heir yet. Rejects
   * when there is no answer in time (ms).
   */
  find(key: string, timeoutMs: number): Promise<KnownHome>
  /**
   * Makes this node the home of the thing. False: the home is no longer the one that was found, and
   * nothing has changed. Rejects when the servers do not answer; then it may have happened.
   */
  take(key: string, found: KnownHome): Promise<boolean>
  /** The things among these whose home is this node. Rejects when the servers do not answer. */
  areHere(keys: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * The thing is over: it has no home any more. Has an effect only while this node is its home. May
   * take a while, and may get lost when this node dies.
   */
  release(key: string): void
}

/** A living node, as the others know it. */
export interface LivingNode extends NodeId {
  /** The version of Fieldgate. */
  readonly version: string
  /** When the process began, ms since 1970. */
  readonly startedAtMs: number
  /** False while the node takes no new clients: it starts, drains or ends. */
  readonly isReady: boolean
  /** Time since it was heard last, ms; for this node itself, since it heard itself. */
  readonly silentMs: number
}

/** A node of which no process lives. */
export interface LostNode {
  readonly name: string
  /** When its last process ended in order, or got an heir: ms since 1970, by that node's clock. */
  readonly endedAtMs: number
  /** True: it ended in order. */
  readonly isOrderly: boolean
  /** The name of the node that has its things. Undefined while there is none. */
  readonly heir: string | undefined
}

/** A dead node's state, which this node has in its own state by now. */
export interface Inheritance {
  readonly from: NodeId
  /** True: the node ended in order, and everything that it did is in its state. */
  readonly isOrderly: boolean
  /**
   * The dead node's entries whose keys begin with the prefix, in the order of their keys; only
   * those of things whose home it was.
   */
  load(prefix: string): AsyncIterable<{ readonly key: string; readonly value: Buffer }>
}

/** The nodes of the deployment. */
export interface Nodes {
  readonly bus: Bus
  readonly homes: Homes
  /**
   * True: this node has not heard itself for so long that it may have an heir soon, or has one. It
   * must not go on with Sessions of clients that connect now.
   */
  readonly isCutOff: boolean
  /** The living nodes with this one, in the order of their names. */
  living(): readonly LivingNode[]
  /** The nodes that lived and do not live now, in the order of their names. */
  lost(): readonly LostNode[]
  /**
   * Called when this node has become the heir of another one, and has its state. Nobody finds this
   * node as the home of the dead node's things before all listeners have resolved. One listener
   * after the other, in the order of the calls of this method.
   */
  onInherited(listener: (inheritance: Inheritance) => Promise<void>): void
  /**
   * The node that goes on in the place of a node that is gone: its heir, which has told its
   * listeners, or the node itself when it is heard again. Waits while there is none. Rejects after
   * the time (ms).
   */
  successorOf(node: NodeId, timeoutMs: number): Promise<NodeId>
  /** Called in each node when a node is gone; its things have a new home, or will have soon. */
  onGone(listener: (node: NodeId) => void): void
}
