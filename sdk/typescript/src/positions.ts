/**
 * Positions: how far a session has handled the events of each of its Topic Filters. A position is
 * all that a program needs to go on after a restart: nothing before it comes again, and everything
 * behind it comes.
 */

/** The position of one Topic Filter. */
export interface Position {
  readonly topicFilter: string
  /** RFC 3339. Before an event is handled, the session begins with the events since this time. */
  readonly since: string
  /** The id of the last event below which every event is handled; undefined: none is handled. */
  readonly after: string | undefined
  /** Ids of handled events behind `after`. Only a handler with `concurrency` makes them. */
  readonly done: readonly string[]
  /**
   * Whether events of QoS 0 have come. The broker does not repeat these by itself, so the SDK asks
   * for them after each connection.
   */
  readonly qos0: 'unknown' | 'seen' | 'unseen'
}

/**
 * Keeps the positions of one session. `save` must have stored the position when its promise
 * resolves: the event is acknowledged after that. A store that writes into the program's own
 * database, in the transaction of the result, makes each event count exactly once even where the
 * process dies between the two.
 */
export interface PositionStore {
  load(): Promise<readonly Position[]>
  save(position: Position): Promise<void>
  /** Forgets the position of a Topic Filter that the session has given up. */
  remove(topicFilter: string): Promise<void>
  /** The stream has ended. A later `load` begins again. */
  close?(): Promise<void>
}

/** Keeps positions for as long as the process lives. */
export class MemoryPositionStore implements PositionStore {
  readonly #positions = new Map<string, Position>()

  load(): Promise<readonly Position[]> {
    return Promise.resolve([...this.#positions.values()])
  }

  save(position: Position): Promise<void> {
    this.#positions.set(position.topicFilter, position)
    return Promise.resolve()
  }

  remove(topicFilter: string): Promise<void> {
    this.#positions.delete(topicFilter)
    return Promise.resolve()
  }
}

/** The two numbers of an event's id: the part of the log, and the place in it. */
export interface Place {
  readonly part: number
  readonly place: number
}

/** The place that an id names; undefined where the text is no id. */
export function placeOf(id: string): Place | undefined {
  const match = /^(\d{1,5})-(\d{1,15})$/.exec(id)
  return match === null ? undefined : { part: Number(match[1]), place: Number(match[2]) }
}

/** A stored position, from text of unknown origin; undefined where it is none. */
export function positionOf(value: unknown): Position | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { topicFilter, since, after, done, qos0 } = value as Readonly<Record<string, unknown>>
  if (typeof topicFilter !== 'string' || typeof since !== 'string') return undefined
  return {
    topicFilter,
    since,
    after: typeof after === 'string' && placeOf(after) !== undefined ? after : undefined,
    done: Array.isArray(done) ? done.filter((id): id is string => typeof id === 'string') : [],
    qos0: qos0 === 'seen' || qos0 === 'unseen' ? qos0 : 'unknown',
  }
}
