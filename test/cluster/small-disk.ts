/**
 * A disk of a server's own: a file system in a file, mounted in the place of a folder. It can lose
 * its power, and it can be full. Needs root, as mount(8) does.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

const MEGABYTE = 1_048_576
/**
 * EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: from here on nothing more comes to the disk,
 * and what was not synced is lost. Perl is a part of each Debian.
 */
const CUT_POWER = 'my $how = pack("L", 2); open(F, "<", $ARGV[0]) or die $!; ioctl(F, 0x8004587D, $how) or die $!'

export class SmallDisk {
  readonly #path: string
  readonly #image: string
  readonly #unmountAtExit = (): void => this.#unmount('--lazy')

  /** The reason for which there can be no such disk here; undefined: there can. */
  static whyNot(folder: string): string | undefined {
    const path = join(folder, 'tried-disk')
    mkdirSync(path)
    try {
      const disk = new SmallDisk(path, 4)
      disk.cutPower()
      disk.unmount()
      return undefined
    } catch (error) {
      return `no file system can be mounted (it needs root, loop devices, e2fsprogs and perl): ${String(error)}`
    } finally {
      rmSync(path, { recursive: true, force: true })
    }
  }

  /** Moves what is in the folder to a new disk, which is mounted there. */
  constructor(path: string, megabytes: number) {
    this.#path = path
    this.#image = `${path}.disk`
    const before = `${path}.before`
    run('truncate', ['--size', `${megabytes}M`, this.#image])
    run('mkfs.ext4', ['-q', '-m', '0', this.#image])
    renameSync(path, before)
    mkdirSync(path)
    this.remount()
    run('cp', ['--archive', `${before}/.`, path])
    run('sync', ['--file-system', path])
    rmSync(before, { recursive: true })
    // Before the server's folder is removed, which a mounted disk would prevent.
    process.prependOnceListener('exit', this.#unmountAtExit)
  }

  /** Loses what was not synced. The disk takes nothing more until `remount`. */
  cutPower(): void {
    run('perl', ['-e', CUT_POWER, this.#path])
  }

  /** Mounts the disk as after a start of the machine. Nothing may have a file of it open. */
  remount(): void {
    this.#unmount()
    run('mount', ['-o', 'loop', this.#image, this.#path])
  }

  /**
   * Takes all room that is left. The event loop goes on meanwhile: clients of this process must not
   * look as if their nodes were silent.
   */
  async fill(): Promise<void> {
    const file = await open(this.#filler, 'a')
    try {
      for (let bytes = MEGABYTE; bytes >= 1; bytes = Math.floor(bytes / 4)) {
        const zeros = Buffer.alloc(bytes)
        try {
          for (;;) {
            await file.write(zeros)
            await file.sync()
          }
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
        }
      }
    } finally {
      await file.close()
    }
  }

  /** Gives the room back that `fill` took. */
  empty(): void {
    rmSync(this.#filler, { force: true })
  }

  /** Moves everything back to the folder, and ends the disk. Nothing may have a file of it open. */
  unmount(): void {
    const after = `${this.#path}.after`
    this.remount()
    this.empty()
    run('cp', ['--archive', this.#path, after])
    this.#unmount()
    rmSync(this.#path, { recursive: true })
    renameSync(after, this.#path)
    rmSync(this.#image, { force: true })
    process.off('exit', this.#unmountAtExit)
  }

  get #filler(): string {
    return join(this.#path, 'filler')
  }

  #unmount(...options: readonly string[]): void {
    if (isMounted(this.#path)) run('umount', [...options, this.#path])
  }
}

function isMounted(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    run('mountpoint', ['--quiet', path])
    return true
  } catch {
    return false
  }
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
  })
}
