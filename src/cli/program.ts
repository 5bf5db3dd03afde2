/**
 * The command line with all its commands. The modules of a command are loaded when the command
 * runs, so that each command starts fast.
 */
import { Command, CommanderError } from 'commander'
import { runtime, version } from '../version.ts'
import { ApiRefusal } from './api/api-client.ts'
import { addApplicationCommands } from './commands/application-commands.ts'
import { addAuditCommands } from './commands/audit-commands.ts'
import { addCodecCommands } from './commands/codec-commands.ts'
import { addCodecsCommands } from './commands/codecs-commands.ts'
import { CommandFailure } from './terminal/command-failure.ts'
import { addDataCommands } from './commands/data-commands.ts'
import { addDrainCommand } from './commands/drain-command.ts'
import { addDeviceCommands } from './commands/device-commands.ts'
import { addHealthCommand } from './commands/health-command.ts'
import { addImportCommand } from './commands/import-command.ts'
import { addInventoryCommands } from './commands/inventory-commands.ts'
import { addKeyCommands } from './commands/key-commands.ts'
import { addApiKeyCommands } from './commands/api-key-commands.ts'
import { addMetricsTokenCommands } from './commands/metrics-token-commands.ts'
import { addNetworkServerCommands } from './commands/network-server-commands.ts'
import { addOrganizationCommands } from './commands/organization-commands.ts'
import { addRegistrationRuleCommands } from './commands/registration-rule-commands.ts'
import { addRenewTokenCommand } from './commands/renew-token-command.ts'
import { addServiceCredentialCommands } from './commands/service-credential-commands.ts'
import { addSettingsCommand } from './commands/settings-command.ts'
import type { Terminal } from './terminal/terminal.ts'
import { addTokenCommands } from './commands/token-commands.ts'
import { addUnknownDeviceCommands } from './commands/unknown-device-commands.ts'
import { addUserCommands } from './commands/user-commands.ts'
import { addProfileCommands } from './commands/profile-commands.ts'
import { addWhyCommand } from './commands/why-command.ts'
import { addWebhookCommands } from './commands/webhook-commands.ts'

/** Runs the command of `args` (without program and script); resolves with the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const exit = { code: 0 }
  const program = createProgram(terminal, exit)
  try {
    await addBareBrokerCommand(program, args)
    await program.parseAsync(args[0] === 'help' ? helpArguments(program, args.slice(1)) : [...args], { from: 'user' })
    return exit.code
  } catch (error) {
    // Commander throws after help and version too, with code 0. It has already printed its message
    // about a wrong call.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof CommandFailure) {
      terminal.error(`fieldgate: ${error.message}\n`)
      return error.exitCode
    }
    if (error instanceof ApiRefusal) {
      terminal.error(`fieldgate: refused: ${error.message}\n`)
      return 1
    }
    terminal.error(
      `fieldgate: unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    return 1
  }
}

/**
 * Makes `help device create` the same as `device create --help`: Commander's own help looks only at
 * one word. Words that name no command are returned as they are: Commander refuses them, and
 * suggests a command of a similar name.
 */
function helpArguments(program: Command, words: readonly string[]): string[] {
  let command = program
  for (const word of words) {
    if (command.commands.length === 0) break
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (next === undefined) return [...words]
    command = next
  }
  return [...words, '--help']
}

function createProgram(terminal: Terminal, exit: { code: number }): Command {
  const program = new Command('fieldgate')
    .description('The integration service of a LoRaWAN deployment: device events out, commands in, over MQTT.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.error(text) })
    .showHelpAfterError('Run it with --help to see how it is used.')
    .helpCommand('help [command...]', 'show how a command is used')
    .addHelpText(
      'after',
      `
Settings are environment variables: see \`fieldgate settings --help\`. The administration commands work on the data
directory FIELDGATE_DATA_DIR: through the service that runs on it, or alone when no service runs.

Examples:
  fieldgate serve
  fieldgate organization create alpine-valley-water
  fieldgate user create anna --organization alpine-valley-water
  fieldgate token create --organization alpine-valley-water --user anna`,
    )
  addServiceCommands(program, terminal, exit)
  addHealthCommand(program, terminal)
  addDrainCommand(program, terminal)
  addWhyCommand(program, terminal, exit)
  addDataCommands(program, terminal, exit)
  addOrganizationCommands(program, terminal)
  addUserCommands(program, terminal)
  addApplicationCommands(program, terminal)
  addCodecCommands(program, terminal)
  addCodecsCommands(program, terminal)
  addDeviceCommands(program, terminal)
  addUnknownDeviceCommands(program, terminal, exit)
  addRegistrationRuleCommands(program, terminal)
  addInventoryCommands(program, terminal, exit)
  addImportCommand(program, terminal)
  addTokenCommands(program, terminal)
  addRenewTokenCommand(program, terminal)
  addServiceCredentialCommands(program, terminal)
  addNetworkServerCommands(program, terminal)
  addProfileCommands(program, terminal)
  addWebhookCommands(program, terminal)
  addMetricsTokenCommands(program, terminal)
  addApiKeyCommands(program, terminal)
  addKeyCommands(program, terminal)
  addAuditCommands(program, terminal)
  addSettingsCommand(program, terminal)
  return program
}

function addServiceCommands(program: Command, terminal: Terminal, exit: { code: number }): void {
  program
    .command('version')
    .description('print the version, and the runtime that runs it')
    .action(() => terminal.out(`${version} on ${runtime}\n`))
  program
    .command('serve')
    .description('run the service; SIGINT and SIGTERM stop it')
    .addHelpText('after', '\nA second signal ends it at once. Settings: see `fieldgate settings --help`.')
    .action(async () => {
      const { serve } = await import('./serve/serve.ts')
      exit.code = await serve(terminal)
    })
  program
    .command('demo')
    .description('run the service with a demonstration deployment and simulated devices, on this machine alone')
    .action(async () => {
      const { demo } = await import('./demo/demo.ts')
      exit.code = await demo(terminal)
    })
  program
    .command('cluster-demo')
    .description(
      'run three nodes with servers of NATS, PostgreSQL and a load on this machine alone, to kill some of them',
    )
    .option('--nodes <count>', 'as many nodes', '3')
    .action(async ({ nodes }: { nodes: string }) => {
      const { clusterDemo } = await import('./cluster-demo/cluster-demo.ts')
      exit.code = await clusterDemo(terminal, Math.max(1, Number.parseInt(nodes, 10) || 1))
    })
  program
    .command('init')
    .description('make the data directory, its certificate authority and the first admin, and stop')
    .action(async () => {
      const { init } = await import('./serve/init.ts')
      await init(terminal)
    })
}

/**
 * Adds `bare-broker`. Its many options load the broker, so they are added only when `args` name the
 * command; the list of commands needs only its name.
 */
async function addBareBrokerCommand(program: Command, args: readonly string[]): Promise<void> {
  if (!args.includes('bare-broker')) {
    program.command('bare-broker').description('run the MQTT broker core alone, for conformance suites and comparisons')
    return
  }
  const { bareBrokerCommand } = await import('./bare-broker/bare-broker.ts')
  program.addCommand(bareBrokerCommand().copyInheritedSettings(program))
}
