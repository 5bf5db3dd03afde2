/** The program's entry: runs the command line and leaves with its exit code. */
import { run } from './cli/program.ts'
import { processTerminal } from './cli/terminal.ts'

// A reader that leaves early (`fieldgate device list | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await run(process.argv.slice(2), processTerminal)
