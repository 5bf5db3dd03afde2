/** The turns of imports: an organization has one import at a time, in all nodes together. */
import type { Bus } from '../nodes.ts'

const KIND = 'inventory.turn'
/** How long the other nodes are asked. A node that does not answer holds up no import. */
const ASK_MS = 2_000
const BUSY = Buffer.from('busy')

export class ImportTurns {
  readonly #bus: Pick<Bus, 'gather' | 'serve'> | undefined
  readonly #maximum: number
  /** The organizations that have a turn in this node, or ask for it. */
  readonly #organizations = new Set<string>()

  /**
   * `maximum` bounds the turns of this node. The bus is that of the deployment; undefined where it
   * has one node.
   */
  constructor(bus: Pick<Bus, 'gather' | 'serve'> | undefined, maximum: number) {
    this.#bus = bus
    this.#maximum = maximum
    bus?.serve(KIND, (body) => (this.#organizations.has(body.toString()) ? BUSY : Buffer.alloc(0)))
  }

  /**
   * True: the organization has its turn until `end`. False: another import has it, or this node has
   * no more turns. Two nodes that begin at the same moment may both get false.
   */
  async begin(organizationId: string): Promise<boolean> {
    if (this.#organizations.size >= this.#maximum || this.#organizations.has(organizationId)) return false
    // Other nodes see it before they are asked, so at most one of them has the turn.
    this.#organizations.add(organizationId)
    let isFree = false
    try {
      const asked = await this.#bus?.gather(KIND, Buffer.from(organizationId), ASK_MS)
      isFree = asked === undefined || asked.answers.every(({ body }) => !BUSY.equals(body))
    } finally {
      if (!isFree) this.end(organizationId)
    }
    return isFree
  }

  end(organizationId: string): void {
    this.#organizations.delete(organizationId)
  }
}
