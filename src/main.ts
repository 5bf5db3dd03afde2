/** The program's entry: runs the command line and leaves with its exit code. */
import { run } from './cli/program.ts'
import { processTerminal } from './cli/terminal/terminal.ts'

/** Time for what is still on its way to standard output and to the log. */
const LINGER_MS = 1_500

// A reader that leaves early (`fieldgate device list | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await run(process.argv.slice(2), processTerminal)
// Who asked it to end waits for that: a handle that something left open does not keep a program
// that is done.
setTimeout(() => process.exit(), LINGER_MS).unref()
