/** The options of `fieldgate webhook create` and `update`, and the settings that they stand for. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { given } from '../../given.ts'
import type { JsonObject } from '../../json.ts'
import type { ApiClient } from '../api/api-client.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { applicationIdOf } from './references.ts'

/** The options that set something. */
export interface WebhookOptions {
  readonly url?: string
  readonly application?: readonly string[]
  readonly device?: readonly string[]
  readonly tag?: Readonly<Record<string, string>>
  readonly kind?: readonly string[]
  readonly header?: Readonly<Record<string, string>>
  readonly caFile?: string
  readonly concurrency?: number
  readonly timeout?: number
  readonly giveUp?: number
  readonly onRefused?: string
  readonly acceptCommands?: boolean
  readonly batchEvents?: number
  readonly batchBytes?: number
  readonly batchWait?: number
}

/** Adds the options. */
export function withWebhookOptions(command: Command): Command {
  return command
    .option('--application <application>', 'only events of this application; may be repeated', added)
    .option('--device <devEui>', 'only events of this device; may be repeated', added)
    .option('--tag <name=value>', 'only events of devices with this tag; may be repeated', pair)
    .option('--kind <kind>', 'only events of this kind, for example up; may be repeated', added)
    .option('--header <name=value>', 'a header field of each request; may be repeated', pair)
    .option('--ca-file <file>', 'PEM of the authorities to trust in the place of the system’s')
    .option('--concurrency <number>', 'requests at the same time, 1 to 16', wholeNumber)
    .option('--timeout <seconds>', 'the time for one request, 1 to 30', wholeNumber)
    .option('--give-up <seconds>', 'how long failing requests are repeated before the pause', wholeNumber)
    .option('--on-refused <what>', 'pause, or skip the event that is refused time and again')
    .option('--accept-commands', 'take commands for the event’s device from answers')
    .option('--batch-events <number>', 'send up to so many events in each request', wholeNumber)
    .option('--batch-bytes <number>', 'the bytes of events in each request; 262144 when not given', wholeNumber)
    .option('--batch-wait <ms>', 'how long the first event waits for others; 1000 when not given', wholeNumber)
}

/** The members of the API that the options set; options that are not given are left out. */
export async function settingsOf(client: ApiClient, options: WebhookOptions): Promise<JsonObject> {
  const { application, batchEvents, batchBytes = 262_144, batchWait = 1_000, caFile } = options
  const batch =
    batchEvents === undefined ? undefined : { maximumEvents: batchEvents, maximumBytes: batchBytes, waitMs: batchWait }
  return given({
    url: options.url,
    applicationIds: application && (await Promise.all(application.map((one) => applicationIdOf(client, one)))),
    devEuis: options.device,
    tags: options.tag,
    eventKinds: options.kind,
    headers: options.header,
    caCertificate: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    concurrency: options.concurrency,
    timeoutSeconds: options.timeout,
    giveUpSeconds: options.giveUp,
    onRefused: options.onRefused,
    acceptsCommands: options.acceptCommands,
    batch,
  })
}

function added(text: string, others: readonly string[] = []): readonly string[] {
  return [...others, text]
}

/** Reads a whole number of an option. Throws InvalidArgumentError for another text. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
