/**
 * A separate file system in a folder, which can be filled without harm to the machine. Needs the
 * rights of root, and Linux.
 */
import { spawnSync } from 'node:child_process'
import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { SmallDisk } from './fault.ts'

const SIZE_BYTES = 512 * 1024 * 1024
const BLOCK = Buffer.alloc(1024 * 1024)

/** Mounts it; undefined: that is not allowed. `unmount` must follow. */
export function mountSmallDisk(folder: string): (SmallDisk & { unmount(): void }) | undefined {
  const args = ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES}`, 'fieldgate-faults', folder]
  if (spawnSync('mount', args, { stdio: 'ignore' }).status !== 0) return undefined
  const ballast = join(folder, 'ballast')
  return {
    async fill() {
      const file = await open(ballast, 'w')
      try {
        const { bavail, bsize } = await statfs(folder)
        for (let left = bavail * bsize; left > 0; left -= BLOCK.length) await file.write(BLOCK)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        await file.close()
      }
    },
    empty: () => rm(ballast, { force: true }),
    unmount() {
      spawnSync('umount', ['-l', folder], { stdio: 'ignore' })
    },
  }
}
