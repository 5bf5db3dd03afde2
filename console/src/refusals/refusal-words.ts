import { asSentence } from '../api/sentence.ts'
import type { ClientRefusal } from '../api/broker-views.ts'

const KINDS: Readonly<Record<string, string>> = {
  connect: 'Connection refused',
  subscribe: 'Subscription refused',
  publish: 'Message refused',
  will: 'Will Message refused',
  notice: 'Delivered, but not readable',
}

/** The kind of a refusal in words: `Connection refused`. */
export function kindWords(kind: string): string {
  return KINDS[kind] ?? 'Refused'
}

/** The broker's reason as a sentence: `The token has expired.` */
export function sentence({ message }: Pick<ClientRefusal, 'message'>): string {
  return asSentence(message)
}
