/**
 * The order of the commands of each device, while they are judged and stored. When a command can't
 * be stored at present, the commands that wait behind it are refused alike: their sender sends all
 * of them again, and in the same order. A later command must not be taken before an earlier one.
 */

/** The work on the commands of one device. */
interface Lane {
  /** Settles when the last work is over. Never rejects. */
  last: Promise<unknown>
  /** The number of the last work. */
  lastNumber: number
  /** Work up to this number is refused. */
  refusedTo: number
}

export class DeviceOrder<Answer> {
  readonly #isAway: (answer: Answer) => boolean
  /**
   * By DevEUI, in the order in which they came. The messages that connections may have
   * unacknowledged bound it.
   */
  readonly #lanes = new Map<string, Lane>()

  /** `isAway`: the answer says that the command could not be stored at present. */
  constructor(isAway: (answer: Answer) => boolean) {
    this.#isAway = isAway
  }

  /** True: no command of the device is under way. */
  isFree(devEui: string): boolean {
    return !this.#lanes.has(devEui)
  }

  /**
   * Does the work behind all earlier work on the device. `refuse` answers in its place when earlier
   * work that it has waited for could not store its command.
   */
  async run(devEui: string, work: () => Promise<Answer>, refuse: () => Answer): Promise<Answer> {
    const lane = this.#lanes.get(devEui) ?? { last: Promise.resolve(), lastNumber: 0, refusedTo: 0 }
    this.#lanes.set(devEui, lane)
    lane.lastNumber += 1
    const number = lane.lastNumber
    const done = lane.last.then(async () => {
      if (number <= lane.refusedTo) return refuse()
      const answer = await work()
      if (this.#isAway(answer)) lane.refusedTo = lane.lastNumber
      return answer
    })
    lane.last = done.catch(() => {})
    try {
      return await done
    } finally {
      if (lane.lastNumber === number) this.#lanes.delete(devEui)
    }
  }
}
