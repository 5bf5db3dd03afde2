/** The command `fieldgate drain`. */
import type { Command } from 'commander'
import { secondsOf } from '../terminal/duration.ts'
import type { Terminal } from '../terminal/terminal.ts'

const HELP = `
The node takes no new MQTT clients, and \`fieldgate health\` says that it is not ready. Its clients are told to connect
again, spread evenly over the seconds, so that they go to other nodes. Then the service ends in order, and another node
goes on with its Sessions and its command queues. The command returns when the service has ended. A deployment of one
node drains, too: its clients come back when it runs again.

Other ways to end the service are quicker: SIGTERM ends all connections at once.

Examples:
  fieldgate drain
  fieldgate drain --seconds 2m`

/** Adds the command to the program. */
export function addDrainCommand(program: Command, terminal: Terminal): void {
  program
    .command('drain')
    .description('send the MQTT clients of the running service away, and end the service')
    .option('--seconds <time>', 'the time over which the clients are sent away: 30 or 2m, at most an hour', '10')
    .addHelpText('after', HELP)
    .action(async ({ seconds }: { readonly seconds: string }) => {
      const { drainNode } = await import('./drain-node.ts')
      await drainNode(terminal, secondsOf(seconds))
    })
}
