/**
 * Keeps messages as objects while a reader needs them. A message that all readers have read is
 * dropped at once, and costs nothing.
 */
import type { Message } from '../../broker/ports/message.ts'
import type { MemoryStore } from './memory-store.ts'

/** The most messages that are dropped in one step while others remain. */
const TRIMMED_AT_ONCE = 1024

export class HeldMessages implements MemoryStore {
  readonly #messages: Message[] = []
  readonly isTrimmable = true
  first = 0
  bytes = 0

  get tail(): number {
    return this.first + this.#messages.length
  }

  append(message: Message): void {
    this.#messages.push(message)
    this.bytes += message.sizeBytes
  }

  message(offset: number): Message {
    return this.#messages[offset - this.first] as Message
  }

  topicName(offset: number): string {
    return this.message(offset).topicName
  }

  ownedAtMs(offset: number): number {
    return this.message(offset).ownedAtMs
  }

  trim(needed: number): void {
    // A kept message must not keep alive the chunk from which it was parsed.
    for (let index = this.#messages.length - 1; index >= 0 && index >= needed - this.first; index -= 1) {
      const message = this.#messages[index] as Message
      if (message.kept) break
      message.keep()
    }
    const read = Math.min(needed, this.tail) - this.first
    if (read === this.#messages.length || read > TRIMMED_AT_ONCE) this.#drop(read)
  }

  shed(): void {
    this.#drop(Math.ceil(this.#messages.length / 2))
  }

  #drop(count: number): void {
    for (const message of this.#messages.splice(0, count)) this.bytes -= message.sizeBytes
    this.first += count
  }
}
