/** Topic Filters with their readers, as a trie by topic level. */
import { SmallMap } from '../../small-map.ts'
import type { Session, Subscription } from './session.ts'
import type { SharedGroup } from './shared-group.ts'

/** The readers of one Topic Filter, and the next levels. */
export class TrieNode {
  /** Undefined: none. Most nodes have one child. */
  children: SmallMap<string, TrieNode> | undefined = undefined
  /** Undefined: none. Most Topic Filters have one Session. */
  sessions: SmallMap<Session, Subscription> | undefined = undefined
  groups: Set<SharedGroup> | undefined = undefined

  get isEmpty(): boolean {
    return this.children === undefined && this.sessions === undefined && this.groups === undefined
  }
}

export class TopicTrie {
  readonly #root = new TrieNode()

  /** The node of the Topic Filter; undefined where nobody has subscribed to it. */
  find(topicFilter: string): TrieNode | undefined {
    let node: TrieNode | undefined = this.#root
    for (const level of topicFilter.split('/')) {
      node = node.children?.get(level)
      if (node === undefined) return undefined
    }
    return node
  }

  addSession(topicFilter: string, session: Session, subscription: Subscription): void {
    const node = this.#make(topicFilter)
    node.sessions ??= new SmallMap()
    node.sessions.set(session, subscription)
  }

  removeSession(topicFilter: string, session: Session): void {
    this.#removeAt(topicFilter, (node) => {
      node.sessions?.delete(session)
      if (node.sessions?.size === 0) node.sessions = undefined
    })
  }

  addGroup(group: SharedGroup): void {
    const node = this.#make(group.topicFilter)
    node.groups ??= new Set()
    node.groups.add(group)
  }

  removeGroup(group: SharedGroup): void {
    this.#removeAt(group.topicFilter, (node) => {
      node.groups?.delete(group)
      if (node.groups?.size === 0) node.groups = undefined
    })
  }

  /** Calls `take` with the node of each Topic Filter that matches the levels of a Topic Name. */
  visit(levels: readonly string[], take: (node: TrieNode) => void): void {
    visit(this.#root, levels, 0, take)
  }

  #make(topicFilter: string): TrieNode {
    let node = this.#root
    for (const level of topicFilter.split('/')) {
      let child = node.children?.get(level)
      if (child === undefined) {
        child = new TrieNode()
        node.children ??= new SmallMap()
        node.children.set(ownText(level, topicFilter), child)
      }
      node = child
    }
    return node
  }

  #removeAt(topicFilter: string, remove: (node: TrieNode) => void): void {
    const path: { readonly parent: TrieNode; readonly level: string }[] = []
    let node = this.#root
    for (const level of topicFilter.split('/')) {
      const child = node.children?.get(level)
      if (child === undefined) return
      path.push({ parent: node, level })
      node = child
    }
    remove(node)
    for (let step = path.pop(); step !== undefined && node.isEmpty; step = path.pop()) {
      step.parent.children?.delete(step.level)
      if (step.parent.children?.size === 0) step.parent.children = undefined
      node = step.parent
    }
  }
}

/** The limit on topic levels bounds the depth. */
function visit(node: TrieNode, levels: readonly string[], depth: number, take: (node: TrieNode) => void): void {
  const { children } = node
  // Wildcards at the first level don't match Topic Names that begin with $ [MQTT-4.7.2-1].
  const wild = depth > 0 || !(levels[0] as string).startsWith('$')
  if (wild) {
    // `#` matches its parent level too [MQTT-4.7.1-2].
    const rest = children?.get('#')
    if (rest !== undefined) take(rest)
  }
  if (depth === levels.length) {
    take(node)
    return
  }
  const exact = children?.get(levels[depth] as string)
  if (exact !== undefined) visit(exact, levels, depth + 1, take)
  if (wild) {
    const single = children?.get('+')
    if (single !== undefined) visit(single, levels, depth + 1, take)
  }
}

/**
 * The level without the Topic Filter around it. A piece of a text keeps the whole text in memory:
 * without this, a level of 13 characters could keep a kilobyte that nobody counts. A level that is
 * a good part of its Topic Filter needs no copy.
 */
function ownText(level: string, topicFilter: string): string {
  return level.length * 4 < topicFilter.length ? Buffer.from(level).toString() : level
}
