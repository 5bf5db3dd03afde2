/**
 * The list of the documentation's pages: their files in the repository, their order, and their
 * addresses.
 */
import { globSync } from 'node:fs'
import { posix } from 'node:path'

/** One page. */
export interface PageSource {
  /** From the root of the repository: `docs/network-servers/mqtt.md`. */
  readonly file: string
  /** Below /docs: `/network-servers/mqtt`; empty for the first page. */
  readonly path: string
  /** The name in the navigation. */
  readonly name: string
  /** The weight of a hit on this page in the search, from 0 to 1. */
  readonly weight: number
}

/** A heading of the navigation, and the pages below it. */
export interface PageGroup {
  readonly name: string
  readonly pages: readonly PageSource[]
}

type Entry = readonly [file: string, name: string, weight?: number]

const GROUPS: Readonly<Record<string, readonly Entry[]>> = {
  Start: [
    ['docs/index.md', 'Welcome', 0.5],
    ['README.md', 'What it is, and five minutes'],
    ['docs/first-device.md', 'Your first device'],
    ['docs/glossary.md', 'Words'],
  ],
  Use: [
    ['docs/mqtt.md', 'MQTT'],
    ['docs/events.md', 'Events'],
    ['docs/clients.md', 'Clients'],
    ['docs/api-keys.md', 'API keys'],
    ['docs/sdk-typescript.md', 'SDK for TypeScript'],
    ['docs/sdk-python.md', 'SDK for Python'],
    ['docs/commands.md', 'Commands'],
    ['docs/history.md', 'History and replay'],
    ['docs/webhooks.md', 'Webhooks out'],
    ['docs/device-profiles.md', 'Device profiles'],
    ['docs/codecs.md', 'Codecs'],
    ['docs/device-library.md', 'Device library'],
    ['docs/console.md', 'Console'],
    ['docs/api.md', 'HTTP API'],
    ['docs/how-to/renew-token.md', 'Renew tokens of others'],
    ['docs/how-to/telegraf.md', 'Telegraf'],
    ['docs/how-to/kafka.md', 'Kafka'],
    ['docs/how-to/home-assistant.md', 'Home Assistant'],
    ['docs/how-to/grafana.md', 'Grafana'],
    ['docs/how-to/node-red.md', 'Node-RED'],
    ['docs/why-no-data.md', 'Why no data?'],
    ['docs/errors.md', 'Errors'],
    ['docs/lifecycle.md', 'Lifecycle', 0.5],
  ],
  Operate: [
    ['docs/operate.md', 'Run it'],
    ['docs/settings.md', 'Settings'],
    ['docs/postgresql.md', 'PostgreSQL'],
    ['docs/cluster.md', 'Several nodes'],
    ['docs/fences.md', 'Fences'],
    ['docs/metrics.md', 'Metrics'],
    ['docs/network-servers/README.md', 'Network servers'],
    ['docs/network-servers/mqtt.md', 'ChirpStack by MQTT'],
    ['docs/network-servers/bridge.md', 'Beside another broker'],
    ['docs/network-servers/chirpstack-grpc.md', 'ChirpStack by gRPC'],
    ['docs/network-servers/webhooks.md', 'Webhooks'],
    ['docs/network-servers/inventory.md', 'Import from a network server'],
    ['docs/unknown-devices.md', 'Unknown devices'],
    ['docs/network-servers/guarantees.md', 'Guarantees of each way'],
    ['docs/how-to/foreign-brokers.md', 'Brokers that you have'],
    ['docs/how-to/mosquitto.md', 'mosquitto asks'],
    ['docs/how-to/emqx.md', 'EMQX asks'],
    ['docs/how-to/rabbitmq.md', 'RabbitMQ asks'],
    ['docs/durability.md', 'Durability and backup'],
    ['docs/simulator.md', 'Simulator'],
  ],
  Inside: [
    ['docs/architecture.md', 'Architecture', 0.7],
    ['docs/performance.md', 'Performance', 0.5],
    ['docs/faults.md', 'Faults', 0.6],
    ['docs/conformance.md', 'Conformance', 0.3],
    ['CONTRIBUTING.md', 'Contributing', 0.5],
    ['SECURITY.md', 'Security', 0.5],
    ['CHANGELOG.md', 'Changes', 0.4],
  ],
}

/** Other Markdown files at the root are a developer's own. */
const AT_THE_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const DECISIONS = 'docs/decisions/*.md'
const MENTIONED = { from: 'Operate', folder: 'docs/*.md' } as const

/**
 * The pages of the repository at `root`. A file of docs/ that the list does not name becomes the
 * last page of a group, under its own name, so that no new page is lost.
 */
export function pageGroups(root: string): readonly PageGroup[] {
  const there = new Set(globSync([...AT_THE_ROOT, 'docs/**/*.md'], { cwd: root }))
  const listed = new Set(Object.values(GROUPS).flatMap((entries) => entries.map(([file]) => file)))
  const groups = Object.entries(GROUPS).map(([name, entries]) => {
    const own = entries.filter(([file]) => there.has(file)).map(pageOf)
    return { name, pages: name === MENTIONED.from ? [...own, ...unlisted(root, listed)] : own }
  })
  const decisions = globSync(DECISIONS, { cwd: root }).toSorted()
  const pages = decisions.map((file) => pageOf([file, nameOf(file), 0.4]))
  return pages.length === 0 ? groups : [...groups, { name: 'Decisions', pages }]
}

function unlisted(root: string, listed: ReadonlySet<string>): PageSource[] {
  const others = globSync([MENTIONED.folder, 'docs/*/*.md'], { cwd: root }).filter(
    (file) => !listed.has(file) && !file.startsWith('docs/decisions/'),
  )
  return others.toSorted().map((file) => pageOf([file, nameOf(file)]))
}

function pageOf([file, name, weight = 1]: Entry): PageSource {
  return { file, path: pathOf(file), name, weight }
}

function pathOf(file: string): string {
  if (file === 'docs/index.md') return ''
  const below = file.startsWith('docs/') ? file.slice('docs'.length) : `/${file.toLowerCase()}`
  return below.replace(/(?:\/README)?\.md$/, '')
}

/** The name of a page without an entry: `0001-pinned-node.md` becomes `0001 pinned node`. */
function nameOf(file: string): string {
  return posix.basename(file, '.md').replaceAll('-', ' ')
}
