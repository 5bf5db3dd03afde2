/** Runs the command line in this process, from its source. */
import { Readable } from 'node:stream'
import { run } from '../../src/cli/program.ts'

export interface CommandEnd {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs `fieldgate` with these arguments on a data directory. */
export function fieldgate(dataDirectory: string, ...args: string[]): Promise<CommandEnd> {
  return fieldgateWith({ FIELDGATE_DATA_DIR: dataDirectory }, ...args)
}

/** Runs `fieldgate` with these arguments in an environment. */
export async function fieldgateWith(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<CommandEnd> {
  const end = { out: '', error: '' }
  const code = await run(args, {
    out: (text) => {
      end.out += text
    },
    error: (text) => {
      end.error += text
    },
    input: Readable.from([]),
    isInteractive: false,
    environment,
  })
  return { code, ...end }
}
