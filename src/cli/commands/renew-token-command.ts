/** The command `fieldgate renew-token`, a helper beside programs that can't renew their token. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { given } from '../../given.ts'
import { readSecret } from '../../settings/secret-file.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { secondsOf } from '../terminal/duration.ts'
import { readTextFile } from '../terminal/file-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { renewTokens, replaceFile, TOKEN_WORD } from './token-renewal.ts'

interface Options {
  readonly server: string
  readonly organization: string
  readonly to: string
  readonly template?: string
  readonly user?: string
  readonly ca?: string
  readonly ttl?: string
  readonly application?: readonly string[]
  readonly device?: readonly string[]
  readonly kind?: readonly string[]
  readonly readOnly?: true
  readonly signal?: string
  readonly run?: string
  readonly once?: true
}

/** The time for a program that `--run` starts. */
const RUN_MS = 60_000

/** Adds the command to the program. */
export function addRenewTokenCommand(program: Command, terminal: Terminal): void {
  program
    .command('renew-token')
    .description('keep a fresh broker-access token in a file, for a program that can’t renew it')
    .requiredOption('--server <address>', 'the HTTPS address of Fieldgate: https://fieldgate.example.org:8443')
    .requiredOption('--organization <id>', 'the id of the organization')
    .requiredOption('--to <file>', 'the file that holds the token; it is replaced as a whole')
    .option('--template <file>', `a text with the word ${TOKEN_WORD}, which is written with the token in its place`)
    .option('--user <user-name>', 'log in as this user; without it, an API key is used')
    .option('--ca <file>', 'the certificate authority of Fieldgate, PEM; the system’s when not given')
    .option('--ttl <duration>', 'the life of each token: seconds, or 15m, 1h, 7d; the deployment’s default')
    .option('--application <id...>', 'only these applications')
    .option('--device <devEUI...>', 'only these devices')
    .option('--kind <kind...>', 'only these kinds of event')
    .option('--read-only', 'no commands')
    .option('--signal <pid>', 'send SIGHUP to this process after each renewal')
    .option('--run <command>', 'run this command of the shell after each renewal')
    .option('--once', 'end after the first token')
    .addHelpText(
      'after',
      `
The API key is read from FIELDGATE_API_KEY or FIELDGATE_API_KEY_FILE, and the password of --user from FIELDGATE_PASSWORD
or FIELDGATE_PASSWORD_FILE. A token is replaced after two thirds of its life, so the program has a third of it to take
the new one. The old token stays good until its end.

Example:
  fieldgate renew-token --server https://fieldgate.example.org:8443 --organization 1 --ttl 1h --read-only \\
    --template telegraf.conf.in --to /etc/telegraf/telegraf.d/fieldgate.conf --run 'systemctl reload telegraf'`,
    )
    .action(async (options: Options) => renew(terminal, options))
}

async function renew(terminal: Terminal, options: Options): Promise<void> {
  const address = addressOf(options.server)
  const pid = options.signal === undefined ? undefined : pidOf(options.signal)
  const authority = options.ca === undefined ? undefined : await readTextFile(options.ca)
  const template = options.template === undefined ? TOKEN_WORD : await readTextFile(options.template)
  if (!template.includes(TOKEN_WORD)) {
    throw new CommandFailure(`The template has no word ${TOKEN_WORD}.`, 2)
  }
  const { createDistantClient } = await import('../api/distant-service.ts')
  const clientWith = (bearer: string | undefined) => createDistantClient({ address, authority }, bearer)
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  try {
    await renewTokens({
      issue: () => issueToken(terminal, options, clientWith),
      deliver: async (token) => {
        await replaceFile(options.to, template.replaceAll(TOKEN_WORD, token))
        if (pid !== undefined) wake(pid)
        if (options.run !== undefined) await runInShell(options.run)
        if (options.once === true) stop.abort()
      },
      tell: (sentence) => terminal.error(`${sentence}\n`),
      clock: systemClock,
      signal: stop.signal,
    })
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
  }
}

async function issueToken(
  terminal: Terminal,
  options: Options,
  clientWith: (bearer: string | undefined) => ApiClient,
): Promise<string> {
  const bearer =
    options.user === undefined
      ? secretOf(terminal, 'FIELDGATE_API_KEY')
      : await logIn(clientWith(undefined), options.user, secretOf(terminal, 'FIELDGATE_PASSWORD'))
  const client = clientWith(bearer)
  try {
    const { application: applicationIds, device: devEuis, kind: eventKinds, readOnly: isReadOnly } = options
    const scope = given({ applicationIds, devEuis, eventKinds, isReadOnly })
    const body = { organizationId: options.organization, ttlInSeconds: secondsOf(options.ttl ?? ''), ...scope }
    return String((await client.request('POST', '/api/mosquitto-auth/login', body))['jwtMqttAuth'])
  } finally {
    await client.close()
  }
}

async function logIn(client: ApiClient, username: string, password: string): Promise<string> {
  try {
    const { jwt, is2faRequired } = await client.request('POST', '/api/internal/login', { username, password })
    if (is2faRequired === true) {
      throw new CommandFailure('The user has a second factor, which a program can’t show: use an API key.', 2)
    }
    return String(jwt)
  } finally {
    await client.close()
  }
}

function secretOf({ environment }: Terminal, name: string): string {
  const read = readSecret(name, (variable) => environment[variable])
  if (!read.ok) throw new CommandFailure(`${read.name}: ${read.reason}`, 2)
  if (read.secret === undefined) throw new CommandFailure(`Set ${name} or ${name}_FILE.`, 2)
  return read.secret
}

function addressOf(text: string): string {
  const url = URL.parse(text)
  // A token over clear text would be everybody's.
  if (url?.protocol !== 'https:') throw new CommandFailure('--server must be an https address.', 2)
  return url.origin
}

function pidOf(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new CommandFailure('--signal must be the id of a process.', 2)
  return Number(text)
}

function wake(pid: number): void {
  try {
    process.kill(pid, 'SIGHUP')
  } catch {
    throw new CommandFailure(`There is no process ${pid} that can be signalled.`)
  }
}

async function runInShell(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'], timeout: RUN_MS })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new CommandFailure(`The command of --run ended with ${code ?? 'a signal'}.`)
}
