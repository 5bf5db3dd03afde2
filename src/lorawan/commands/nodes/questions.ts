/** The questions of nodes to the home of a command queue, with their answers, as JSON. */
import type { Command } from '../command.ts'
import type { CommandAnswer, CommandTarget, Flushed } from '../commands.ts'
import type { ListedCommand, QueueAway } from '../device-commands.ts'
import type { Cancellation } from '../downlink-queue.ts'

/** A value with bytes, as JSON: the bytes are base64. */
export type OnWire<Value> = Omit<Value, 'data'> & { readonly data?: string | undefined }

interface OfOrganization extends CommandTarget {
  readonly organizationId: string
}

/** The answer to a command that is in the queue, or refused; see `Commands.take`. */
export interface TakenCommand {
  readonly answer: CommandAnswer
  readonly awaitsVerdict: boolean
}

/** Some of a device's commands. */
export interface CommandPage {
  readonly items: readonly (Omit<ListedCommand, 'content'> & { readonly content: OnWire<ListedCommand['content']> })[]
  /** False: more commands follow these. */
  readonly isEnd: boolean
}

/** By kind. */
export interface Questions {
  'commands.submit': {
    readonly question: CommandTarget & { readonly command: OnWire<Command> }
    readonly answer: TakenCommand
  }
  'commands.verdict': {
    readonly question: CommandTarget & { readonly id: string; readonly isRepeated: boolean }
    readonly answer: CommandAnswer | undefined
  }
  /** `from`: how many commands the asker has already. */
  'commands.list': { readonly question: OfOrganization & { readonly from: number }; readonly answer: CommandPage }
  'commands.cancel': {
    readonly question: OfOrganization & { readonly id: string }
    readonly answer: Cancellation | QueueAway
  }
  'commands.flush': {
    readonly question: OfOrganization
    readonly answer: { readonly flushed?: Flushed | QueueAway | undefined }
  }
  /** An event of the device; `payload` is base64. The answer is the id of its command. */
  'commands.event': {
    readonly question: CommandTarget & { readonly kind: string; readonly payload: string }
    readonly answer: string | undefined
  }
}

/** The value with base64 in the place of its bytes. */
export function toWire<Value extends { readonly data?: Buffer | undefined }>(value: Value): OnWire<Value> {
  return { ...value, data: value.data?.toString('base64') }
}

/** The command as its sender's node had read it. */
export function commandFromWire({ data, ...command }: OnWire<Command>): Command {
  return { ...command, data: bytesOf(data) }
}

/** The listed commands as their home had them. */
export function listedFromWire({ items }: CommandPage): readonly ListedCommand[] {
  return items.map(({ content: { data, ...content }, ...item }) => ({
    ...item,
    content: { ...content, data: bytesOf(data) },
  }))
}

function bytesOf(base64: string | undefined): Buffer | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64')
}
