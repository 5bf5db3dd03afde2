/**
 * Speaks to engines in tests: messages are made from the few members that a test cares about, and
 * promises stand in for callbacks.
 */
import type { Engine, EngineFailure, ScanQuery, StateChange } from '../broker/ports/engine.ts'
import { Message } from '../broker/ports/message.ts'
import type { MessageFields } from '../broker/ports/message.ts'

/** A request that the engine refused. */
export class RefusedError extends Error {
  readonly failure: EngineFailure

  constructor(failure: EngineFailure) {
    super(failure.reason)
    this.failure = failure
  }
}

/** A message of QoS 1 whose payload is the text. */
export function messageOf(
  topicName: string,
  text: string,
  fields: Partial<MessageFields> = {},
  expiresAtMs = Infinity,
): Message {
  return new Message(
    {
      topicName,
      payload: Buffer.from(text),
      qos: 1,
      retain: false,
      properties: undefined,
      publisherKey: 'p',
      ...fields,
    },
    expiresAtMs,
  )
}

/** Resolves with the offset, or rejects with a `RefusedError`. */
export function append(
  engine: Engine,
  partition: number,
  message: Message,
  changes?: readonly StateChange[],
): Promise<number> {
  return new Promise((resolve, reject) => {
    engine.append(partition, {
      message,
      changes,
      committed: resolve,
      failed: (failure) => reject(new RefusedError(failure)),
    })
  })
}

export function write(engine: Engine, changes: Readonly<Record<string, string | undefined>>): Promise<void> {
  return new Promise((resolve, reject) => {
    engine.write({
      changes: changesOf(changes),
      committed: resolve,
      failed: (failure) => reject(new RefusedError(failure)),
    })
  })
}

export function changesOf(changes: Readonly<Record<string, string | undefined>>): StateChange[] {
  return Object.entries(changes).map(([key, value]) => ({
    key,
    value: value === undefined ? undefined : Buffer.from(value),
  }))
}

/** The entries of the state as text, in the order in which the engine gives them. */
export async function loadAll(engine: Engine, prefix = ''): Promise<[key: string, value: string][]> {
  const entries: [string, string][] = []
  for await (const { key, value } of engine.load(prefix)) entries.push([key, value.toString()])
  return entries
}

/** All messages of a partition from an offset on, read page by page. */
export async function readAll(
  engine: Engine,
  partition: number,
  from = 0,
  maximumMessages = 100,
): Promise<{
  readonly messages: Message[]
  readonly offsets: number[]
  readonly lost: number
  /** By tenant: messages that were removed because of the tenant's own bound. */
  readonly removed: ReadonlyMap<string, number>
  readonly next: number
}> {
  const removed = new Map<string, number>()
  const all = { messages: [] as Message[], offsets: [] as number[], lost: 0, removed, next: from }
  while (all.next < engine.tail(partition)) {
    const result = await engine.read(partition, all.next, maximumMessages)
    const { messages, offsets, lost, next } = result
    for (const [tenant, count] of result.removed ?? []) removed.set(tenant, (removed.get(tenant) ?? 0) + count)
    all.messages.push(...messages)
    all.offsets.push(...offsets)
    all.lost += lost
    all.next = next
  }
  return all
}

/** All messages of a scan, page by page. */
export async function scanAll(
  engine: Engine,
  query: Omit<ScanQuery, 'maximumMessages'>,
  pageSize: number,
): Promise<Message[]> {
  const all: Message[] = []
  let afterOffset = query.afterOffset
  for (;;) {
    const { messages, more, nextAfterOffset } = await engine.scan({ ...query, afterOffset, maximumMessages: pageSize })
    all.push(...messages)
    if (!more) return all
    afterOffset = nextAfterOffset
  }
}

export function texts(messages: readonly Message[]): string[] {
  return messages.map(({ payload }) => payload.toString())
}
