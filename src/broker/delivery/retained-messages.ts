/** The last retained message of each Topic Name [MQTT-3.3.1-5], found by Topic Filter. */
import type { Limits } from '../ports/limits.ts'
import type { SteadyMs } from '../../clock.ts'
import { hasExpired, sizeOfMessage } from '../ports/message.ts'
import type { Message, MessageFields } from '../ports/message.ts'

class Node {
  readonly children = new Map<string, Node>()
  message: Message | undefined = undefined
}

export class RetainedMessages {
  readonly #root = new Node()
  readonly #limits: Limits
  #count = 0
  #bytes = 0
  /** Messages on their way into the log: there must be room for them when they are owned. */
  #reserved = 0
  #reservedBytes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  /** True when the bounds have room for this message in the place of its predecessor. */
  hasRoom(message: Pick<MessageFields, 'topicName' | 'payload' | 'properties'>): boolean {
    const known = this.#find(message.topicName)
    const bytes = this.#bytes + this.#reservedBytes + sizeOfMessage(message) - (known?.sizeBytes ?? 0)
    return (
      (known !== undefined || this.#count + this.#reserved < this.#limits.maximumRetainedMessages) &&
      bytes <= this.#limits.maximumRetainedBytes
    )
  }

  /**
   * Keeps room for a message that is on its way into the log. Each call is followed by one
   * `release`.
   */
  reserve(message: Message): void {
    if (!message.retain || message.payload.length === 0) return
    this.#reserved += 1
    this.#reservedBytes += message.sizeBytes
  }

  release(message: Message): void {
    if (!message.retain || message.payload.length === 0) return
    this.#reserved -= 1
    this.#reservedBytes -= message.sizeBytes
  }

  /**
   * Keeps the message in the place of an earlier one; an empty payload removes it [MQTT-3.3.1-6],
   * [MQTT-3.3.1-7].
   */
  set(message: Message): void {
    if (message.payload.length === 0) {
      this.#remove(message.topicName)
      return
    }
    let node = this.#root
    for (const level of message.topicName.split('/')) {
      let child = node.children.get(level)
      if (child === undefined) {
        child = new Node()
        node.children.set(level, child)
      }
      node = child
    }
    if (node.message === undefined) this.#count += 1
    else this.#bytes -= node.message.sizeBytes
    message.keep()
    node.message = message
    this.#bytes += message.sizeBytes
  }

  /**
   * The retained messages that a new subscription gets. Expired messages are removed on the way
   * [MQTT-3.3.2-5].
   */
  match(topicFilter: string, now: SteadyMs): Message[] {
    const found: Message[] = []
    const expired: string[] = []
    const take = ({ message }: Node): void => {
      if (message === undefined) return
      if (hasExpired(message, now)) expired.push(message.topicName)
      else found.push(message)
    }
    visit(this.#root, topicFilter.split('/'), 0, take)
    for (const topicName of expired) this.#remove(topicName)
    return found
  }

  #find(topicName: string): Message | undefined {
    let node: Node | undefined = this.#root
    for (const level of topicName.split('/')) {
      node = node.children.get(level)
      if (node === undefined) return undefined
    }
    return node.message
  }

  #remove(topicName: string): void {
    const path: { readonly parent: Node; readonly level: string }[] = []
    let node = this.#root
    for (const level of topicName.split('/')) {
      const child = node.children.get(level)
      if (child === undefined) return
      path.push({ parent: node, level })
      node = child
    }
    if (node.message === undefined) return
    this.#count -= 1
    this.#bytes -= node.message.sizeBytes
    node.message = undefined
    for (
      let step = path.pop();
      step !== undefined && node.message === undefined && node.children.size === 0;
      step = path.pop()
    ) {
      step.parent.children.delete(step.level)
      node = step.parent
    }
  }
}

/** The limit on topic levels bounds the depth. */
function visit(node: Node, levels: readonly string[], depth: number, take: (node: Node) => void): void {
  if (depth === levels.length) {
    take(node)
    return
  }
  const level = levels[depth] as string
  if (level === '#') {
    if (depth > 0) take(node)
    visitAll(node, depth, take)
  } else if (level === '+') {
    for (const [name, child] of node.children)
      if (depth > 0 || !name.startsWith('$')) visit(child, levels, depth + 1, take)
  } else {
    const child = node.children.get(level)
    if (child !== undefined) visit(child, levels, depth + 1, take)
  }
}

function visitAll(node: Node, depth: number, take: (node: Node) => void): void {
  for (const [name, child] of node.children) {
    if (depth === 0 && name.startsWith('$')) continue
    take(child)
    visitAll(child, depth + 1, take)
  }
}
