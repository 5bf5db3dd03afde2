/** The record of the program under test: one line for each event that it was handed. */
import { readFile } from 'node:fs/promises'

/** One event as the program wrote it. */
export interface HandedOver {
  readonly id: string
  readonly devEui: string
  readonly fCnt: number
}

/** The faults of a run. All lists are empty where the SDK kept its promises. */
export interface Verdict {
  readonly missing: readonly string[]
  readonly twice: readonly string[]
  /** Ids that no stored event has. */
  readonly unknown: readonly string[]
  /** Events of a device behind a later one. */
  readonly outOfOrder: readonly string[]
}

/** The whole lines of the file; a line that is being written is left out. */
export async function readHandedOver(file: string): Promise<readonly HandedOver[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', devEui = '', fCnt = ''] = line.split(' ')
      return { id, devEui, fCnt: Number(fCnt) }
    })
}

/** Compares the handed over events with the stored ones, whose order is that of their ids. */
export function judge(handedOver: readonly HandedOver[], stored: ReadonlySet<string>): Verdict {
  const seen = new Set<string>()
  const twice: string[] = []
  const unknown: string[] = []
  const outOfOrder: string[] = []
  const lastOfDevice = new Map<string, number>()
  for (const { id, devEui } of handedOver) {
    if (seen.has(id)) twice.push(id)
    seen.add(id)
    if (!stored.has(id)) unknown.push(id)
    const place = Number(id.split('-')[1])
    const last = lastOfDevice.get(devEui) ?? -1
    if (place < last) outOfOrder.push(`${id} of ${devEui} behind ${last}`)
    else lastOfDevice.set(devEui, place)
  }
  return { missing: [...stored].filter((id) => !seen.has(id)), twice, unknown, outOfOrder }
}
