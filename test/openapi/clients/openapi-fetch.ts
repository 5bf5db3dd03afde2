// The main flow with openapi-typescript (types) and openapi-fetch (calls).
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

type Organization = components['schemas']['Organization']

const { BASE_URL: baseUrl = '', USER_NAME: username = '', PASSWORD: password = '' } = process.env

function must<T>({ data, error }: { data?: T; error?: components['schemas']['Error'] }): T {
  if (data === undefined) throw new Error(error?.message)
  return data
}

const anonymous = createClient<paths>({ baseUrl })
const { jwt } = must(await anonymous.POST('/api/internal/login', { body: { username, password } }))
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${jwt}` } })

const organizations = must(await client.GET('/api/organizations', { params: { query: { limit: 999, offset: 0 } } }))
const organization: Organization = organizations.result[0]!
const organizationId = organization.id

const applications = must(
  await client.GET('/api/applications', { params: { query: { limit: 999, organizationID: organizationId } } }),
)
const application = applications.result[0]!

const token = must(await client.POST('/api/mosquitto-auth/login', { body: { organizationId, ttlInSeconds: '3600' } }))

const devices = must(await client.GET('/api/devices', { params: { query: { applicationID: application.id } } }))
const devEui = devices.result[0]!.devEUI

const eventTopic = must(
  await client.GET('/api/mosquitto-auth/subscribe-application-events', {
    params: { query: { applicationId: application.id, organizationId } },
  }),
)
const deviceTopics = must(
  await client.GET('/api/mosquitto-auth/subscribe-device-events', { params: { query: { devEui, organizationId } } }),
)
const commandTopic = must(
  await client.GET('/api/mosquitto-auth/send-command', { params: { query: { devEui, organizationId } } }),
)

const command: components['schemas']['NewCommand'] = { confirmed: true, fPort: 10, data: 'AQID', id: 'openapi-fetch' }
const accepted = must(
  await client.POST('/api/devices/{devEui}/queue', {
    params: { path: { devEui } },
    body: { deviceQueueItem: command },
  }),
)
const queue = must(await client.GET('/api/devices/{devEui}/queue', { params: { path: { devEui } } }))
must(await client.DELETE('/api/devices/{devEui}/queue/{id}', { params: { path: { devEui, id: accepted.id } } }))

const refused = await client.GET('/api/organizations/{id}', { params: { path: { id: '987654321' } } })

console.log(
  JSON.stringify({
    organization: organization.displayName,
    application: application.name,
    parts: token.jwtMqttAuth.split('.').length,
    eventTopic: eventTopic.topic,
    deviceTopics: deviceTopics.topic.length,
    commandTopic: commandTopic.topic,
    state: accepted.state,
    queued: queue.deviceQueueItems.some(({ id, state }) => id === accepted.id && state === 'queued'),
    refusal: refused.error?.details[0]?.reason,
  }),
)
