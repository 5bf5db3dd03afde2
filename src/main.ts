/** The program's entry: runs the command line and leaves with its exit code. */
import { run } from './cli/program.ts'
import { processTerminal } from './cli/terminal/terminal.ts'

/** The time left for the last bytes to standard output and to the log. */
const LINGER_MS = 1_500

// A reader that closes the pipe early (`fieldgate device list | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
// No `await` at the top of the file: Bun makes bytecode only of a program without it.
void main()

async function main(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), processTerminal)
  // The program is done, and somebody may wait for its end: an open handle must not keep it alive.
  setTimeout(() => process.exit(), LINGER_MS).unref()
}
