/**
 * The recipe of docs/how-to/home-assistant.md with a real Home Assistant. `FIELDGATE_TEST_HASS`
 * names the program `hass`.
 */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { documentedBlock } from '../support/documented.ts'
import { freePort } from '../support/free-port.ts'
import { Program } from '../support/program.ts'
import { absenceOf } from './recipe-world.ts'

const missing = absenceOf('FIELDGATE_TEST_HASS', '--version')
const CREATED_AT = '2026-01-01T00:00:00+00:00'

describe('Home Assistant with the configuration of the page', { skip: missing ?? false }, () => {
  let folder: string
  let world: World

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldgate-home-assistant-'))
    world = await startWorld()
  })

  after(async () => {
    await world?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('shows the value of an uplink, and its button sends a command', async () => {
    const [, device] = world.devices
    assert.ok(device !== undefined)
    const entities = await documentedBlock('home-assistant.md', 'entities', {
      APPLICATION: world.applicationId,
      DEVEUI: device.devEui,
    })
    await writeFile(join(folder, 'configuration.yaml'), `${await ownLines()}\n${entities}\n`)
    await mkdir(join(folder, '.storage'))
    await writeFile(join(folder, '.storage', 'core.config_entries'), JSON.stringify(await integration()))

    const environment = { HOME: folder, LANG: 'C.UTF-8', ...authorities() }
    await using hass = new Program(process.env['FIELDGATE_TEST_HASS'] ?? '', ['-c', folder], { environment })
    await hass.complaint(/Connected to MQTT server/, 120_000)
    // An automation sleeps until then.
    await hass.complaint(/Initialized trigger finger|Initialized trigger automation/, 60_000)
    await hass.complaint(/Subscribing .*event\/up/, 30_000)
    await world.publish(device, 'up', climateUplink(1))
    await hass.complaint(/new_state=<state sensor\.pump_house_temperature=18\.7/, 30_000)
    const command = await within(world.commands.next(), 'the command')
    assert.match(command.value.topicName, new RegExp(`/device/${device.devEui}/command/down$`))
    assert.match(command.value.text, /"data": ?"AQ=="/)
  })

  /** The integration as its form stores it. */
  async function integration(): Promise<object> {
    const { service, organizationId, anna } = world
    const administration = new Administration(service)
    const session = await administration.login(anna.userName)
    const entry = {
      data: {
        broker: 'localhost',
        port: service.mqttsPort,
        username: await administration.brokerToken(session, organizationId),
        password: 'default',
        client_id: 'home-assistant-1',
        certificate: service.ca,
        protocol: '5',
        discovery: false,
        birth_message: {},
        will_message: {},
      },
      domain: 'mqtt',
      entry_id: '01JGXYZ0000000000000000000',
      title: 'Fieldgate',
      source: 'user',
      version: 1,
      minor_version: 1,
      options: {},
      unique_id: null,
      disabled_by: null,
      discovery_keys: {},
      pref_disable_new_entities: false,
      pref_disable_polling: false,
      created_at: CREATED_AT,
      modified_at: CREATED_AT,
    }
    return { version: 1, minor_version: 4, key: 'core.config_entries', data: { entries: [entry] } }
  }
})

/** Home Assistant installs packages of its integrations, by the authorities of this computer. */
function authorities(): Readonly<Record<string, string>> {
  const { SSL_CERT_FILE } = process.env
  return SSL_CERT_FILE === undefined ? {} : { SSL_CERT_FILE }
}

/** The rest of the configuration: no port for others, the log, and a finger on the button. */
async function ownLines(): Promise<string> {
  return [
    'http:',
    '  server_host: 127.0.0.1',
    `  server_port: ${await freePort()}`,
    'logger:',
    '  default: info',
    '  logs:',
    '    homeassistant.core: debug',
    '    homeassistant.components.mqtt: debug',
    'automation:',
    '  - id: finger',
    '    triggers: [{ trigger: state, entity_id: sensor.pump_house_temperature }]',
    '    actions: [{ action: button.press, target: { entity_id: button.open_the_valve } }]',
  ].join('\n')
}
