/** The command `fieldgate codec test`: its options and its help. `try-codec.ts` does the work. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { pair } from '../terminal/name-value-pair.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { TrialOptions } from './try-codec.ts'

/** Adds the command to the program. */
export function addCodecCommands(program: Command, terminal: Terminal): void {
  const codec = program.command('codec').description('try a payload codec on bytes')
  codec
    .command('test')
    .description('decode bytes, or encode an object, by a script file or by the codec of an application')
    .option('--decoder-file <path>', 'JavaScript that decodes')
    .option('--encoder-file <path>', 'JavaScript that encodes')
    .option('--application <application>', 'use its codec, and its scripts unless a file is given')
    .option('--device <devEui>', 'use its variables, and the codec of its application')
    .addOption(new Option('--codec <codec>', 'instead of a script').choices(['CAYENNE_LPP', 'CUSTOM_JS']))
    .option('--hex <digits>', 'the bytes, in hexadecimal digits; spaces, : and - between them don’t matter', hexDigits)
    .option('--data <base64>', 'the bytes, in base64')
    .option('--object <json>', 'the object to encode', jsonValue)
    .option('--f-port <number>', 'port of the frame, 1 to 255', fPort, 1)
    .option(
      '--variable <name=value>',
      'a variable for the script; replaces the device’s variable of that name; may be repeated',
      pair,
    )
    .option('--json', 'print the answer of the API’s codec test as JSON')
    .addHelpText(
      'after',
      `
Nothing is sent or stored. A script file alone needs no deployment. The object goes to standard output; what the script
writes to its console, and its warnings, go to standard error. The exit code is 1 when the codec fails.

Examples:
  fieldgate codec test --decoder-file decoder.js --hex '01 67 00 FA' --f-port 2
  fieldgate codec test --application water-network --data AWcA+g==
  fieldgate codec test --device 0101010101010101 --decoder-file draft.js --data AWcA+g== --variable offset=3
  fieldgate codec test --encoder-file encoder.js --object '{"valve":"open"}'`,
    )
    .action(async (options: TrialOptions, command: Command) => {
      // Loaded only now: the engine for scripts is large, and other commands don't need it.
      const { tryCodecOf } = await import('./try-codec.ts')
      await tryCodecOf(terminal, command, options)
    })
}

function hexDigits(text: string): string {
  const digits = text.replace(/^0x/i, '').replaceAll(/[\s:-]/g, '')
  if (!/^(?:[0-9a-f]{2})*$/i.test(digits)) throw new InvalidArgumentError('It must be pairs of hexadecimal digits.')
  return digits
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
}

function fPort(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > 255) throw new InvalidArgumentError('It must be a whole number from 1 to 255.')
  return value
}
