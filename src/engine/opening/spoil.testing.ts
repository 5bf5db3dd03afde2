/** Damages files as disks do. */

/** A file after damage; `content` undefined: the file is gone. */
export interface Spoiled {
  /** The damage in words: `zeroes 512 bytes at 1024`. */
  readonly what: string
  readonly content: Buffer | undefined
}

const SECTOR_BYTES = 512
const SMEAR_BYTES = 64

/**
 * Damages a copy of the bytes at a random place: a bit, 64 bytes, a sector or the end. Or it
 * removes the file.
 */
export function spoil(bytes: Buffer, random: () => number): Spoiled {
  const content = Buffer.from(bytes)
  const at = Math.floor(random() * content.length)
  const kind = random()
  if (kind < 0.3) {
    const bit = Math.floor(random() * 8)
    if (content.length > 0) content[at] = (content[at] as number) ^ (1 << bit)
    return { what: `flips bit ${bit} of byte ${at}`, content }
  }
  if (kind < 0.6) {
    for (let index = at; index < Math.min(content.length, at + SMEAR_BYTES); index += 1) {
      content[index] = Math.floor(random() * 256)
    }
    return { what: `smears 64 bytes at ${at}`, content }
  }
  if (kind < 0.8) {
    const sector = at - (at % SECTOR_BYTES)
    content.fill(0, sector, Math.min(content.length, sector + SECTOR_BYTES))
    return { what: `zeroes the sector at ${sector}`, content }
  }
  if (kind < 0.93) return { what: `cuts at ${at}`, content: content.subarray(0, at) }
  return { what: 'removes', content: undefined }
}
