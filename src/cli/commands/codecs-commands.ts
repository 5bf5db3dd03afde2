/** The commands `fieldgate codecs ...`: their options and their help. */
import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import type { ImportCodecsOptions } from './import-codecs.ts'
import { addLibraryCommands } from './library-commands.ts'
import type { ChoiceOptions, ShowOptions } from './read-codecs.ts'

/** Without an organization the library is meant. */
type ImportOptions = Omit<ImportCodecsOptions, 'organization'> & Partial<Pick<ImportCodecsOptions, 'organization'>>

/** Adds the commands to the program. */
export function addCodecsCommands(program: Command, terminal: Terminal): void {
  const codecs = program
    .command('codecs')
    .description('look into a collection of device profiles, import it, and look into the library')
  codecs.addHelpText(
    'afterAll',
    `
A collection is a folder or a zip archive in the layout of a device repository (vendor/index.yaml), of ChirpStack's
device profiles (vendors/*/vendor.toml), or of Actility's catalogue (vendors/*/models/*/model.yaml). Nothing is
downloaded. Only import and library need a deployment. Files that can't be read are named on standard error.

Examples:
  fieldgate codecs list ./device-profiles --search milesight
  fieldgate codecs check ./device-profiles.zip
  fieldgate codecs show ./device-profiles Milesight 'Milesight AM102' --region EU868 --json
  fieldgate codecs import ./device-profiles --look
  fieldgate codecs library list --search milesight
  fieldgate codecs import ./device-profiles --organization alpine-valley-water --search milesight --look`,
  )

  withChoice(codecs.command('list').description('list the vendors, models and firmware versions')).action(
    async (collection: string, options: ChoiceOptions) => {
      // Loaded only now: the readers of the formats are large, and other commands don't need them.
      const { listCodecs } = await import('./read-codecs.ts')
      await listCodecs(terminal, collection, options)
    },
  )

  withChoice(
    codecs.command('check').description('run the examples of each profile, and show the ones that differ'),
  ).action(async (collection: string, options: ChoiceOptions) => {
    const { checkCodecs } = await import('./check-codecs.ts')
    await checkCodecs(terminal, collection, options)
  })

  codecs
    .command('show')
    .description('show one profile; with --json as the body of a new device profile')
    .argument('<collection>', 'a folder, or a zip archive')
    .argument('<vendor>')
    .argument('<model>')
    .option('--firmware <version>', 'the version of the firmware, where there are several')
    .option('--region <region>', 'the region, as the collection writes it; the first one by default')
    .option('--json', 'print the members of a device profile, with the scripts and the examples')
    .action(async (collection: string, vendor: string, model: string, options: ShowOptions) => {
      const { showCodecs } = await import('./read-codecs.ts')
      await showCodecs(terminal, collection, { vendor, model, ...options })
    })

  withChoice(
    codecs
      .command('import')
      .description('take the profiles into the library of the deployment, and run their examples'),
  )
    .option('--organization <organization>', 'make device profiles of this organization instead')
    .option('--look', 'show what would be created or changed, and what that breaks; change nothing')
    .option('--update', 'change the profiles that came from the same collection')
    .option('--force', 'also profiles whose own examples do not hold')
    .action(async (collection: string, options: ImportOptions, command: Command) => {
      const { organization, ...others } = options
      if (organization === undefined) {
        const { importLibrary } = await import('./import-library.ts')
        await importLibrary(terminal, command, collection, others)
      } else {
        const { importCodecs } = await import('./import-codecs.ts')
        await importCodecs(terminal, command, collection, { organization, ...others })
      }
    })

  addLibraryCommands(codecs, terminal)
}

function withChoice(command: Command): Command {
  return command
    .argument('<collection>', 'a folder, or a zip archive')
    .option('--search <text>', 'only profiles with this text in vendor or model; upper and lower case are the same')
    .option('--region <region>', 'only profiles for this region, as the collection writes it')
    .option('--json', 'print JSON, for programs')
}
