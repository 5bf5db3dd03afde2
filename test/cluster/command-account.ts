/** The account of the commands of a load: accepted ones, and those that the network server got. */
import type { FaultsFound } from './faults-found.ts'

/** A command, by the number of its sender and its number there. */
export interface CommandKey {
  readonly sender: number
  readonly sequence: number
}

/** The most times that the network server may be offered a command that it has acknowledged. */
const OFFERED_AGAIN = 1

interface Sender {
  readonly name: string
  next: number
  /** Accepted ones that the network server has not got yet. */
  readonly owed: Set<number>
}

interface Command {
  /** How often its node has got an acknowledgement of it. */
  confirmed: number
}

export class CommandAccount {
  readonly faults: FaultsFound
  accepted = 0
  /** Commands that the network server has got, each counted once. */
  arrived = 0
  /** Commands that the network server was offered again although it had acknowledged them. */
  repeated = 0
  readonly #senders: Sender[] = []
  readonly #commands = new Map<string, Command>()
  /** By device and sender: the highest number that the network server got. */
  readonly #highest = new Map<string, number>()
  /** By device: the commands that the network server has, and has not acknowledged. */
  readonly #inFlight = new Map<string, string>()

  constructor(faults: FaultsFound) {
    this.faults = faults
  }

  addSender(name: string): number {
    return this.#senders.push({ name, next: 0, owed: new Set() }) - 1
  }

  /** Returns the number of the sender's next command. */
  sends(sender: number): number {
    const one = this.#sender(sender)
    one.next += 1
    return one.next - 1
  }

  accepts({ sender, sequence }: CommandKey): void {
    this.accepted += 1
    if (!this.#commands.has(nameOf({ sender, sequence }))) this.#sender(sender).owed.add(sequence)
  }

  /** The network server has got a command, on the connection that it has now. */
  arrives(devEui: string, key: CommandKey): void {
    const name = nameOf(key)
    const other = this.#inFlight.get(devEui)
    if (other !== undefined && other !== name) {
      this.faults.add('twoInFlight', `${devEui} got ${name} while ${other} was not acknowledged`)
    }
    this.#inFlight.set(devEui, name)
    this.#sender(key.sender).owed.delete(key.sequence)
    const command = this.#commands.get(name)
    if (command === undefined) this.#first(devEui, key, name)
    else if (command.confirmed > 0) {
      this.repeated += 1
      if (command.confirmed > OFFERED_AGAIN)
        this.faults.add('commandRepeats', `${name} came again after ${command.confirmed} acknowledgements`)
    }
  }

  /** The network server acknowledges the device's command. */
  taken(devEui: string): void {
    this.#inFlight.delete(devEui)
  }

  /** The node has got an acknowledgement of the command. */
  confirmed(key: CommandKey): void {
    const command = this.#commands.get(nameOf(key))
    if (command !== undefined) command.confirmed += 1
  }

  /** The network server's connection has ended, with all that was on its way. */
  disconnected(): void {
    this.#inFlight.clear()
  }

  /** Accepted commands that the network server has not got. */
  get owed(): readonly CommandKey[] {
    return this.#senders.flatMap(({ owed }, sender) => [...owed].map((sequence) => ({ sender, sequence })))
  }

  /** True: the network server has not got all of these commands. More may be owed by now. */
  areOwed(keys: readonly CommandKey[]): boolean {
    return keys.some(({ sender, sequence }) => this.#sender(sender).owed.has(sequence))
  }

  /** Counts these commands as lost, if they are still owed. */
  settle(owed: readonly CommandKey[]): void {
    for (const { sender, sequence } of owed) {
      const one = this.#sender(sender)
      if (one.owed.delete(sequence)) this.faults.add('lostCommands', `${one.name}:${sequence}`)
    }
  }

  #first(devEui: string, { sender, sequence }: CommandKey, name: string): void {
    this.#commands.set(name, { confirmed: 0 })
    this.arrived += 1
    const stream = `${devEui} ${sender}`
    const highest = this.#highest.get(stream) ?? -1
    if (sequence < highest) this.faults.add('commandDisorder', `${name} came after ${highest}`)
    else this.#highest.set(stream, sequence)
  }

  #sender(sender: number): Sender {
    return this.#senders[sender] as Sender
  }
}

function nameOf({ sender, sequence }: CommandKey): string {
  return `${sender}:${sequence}`
}
