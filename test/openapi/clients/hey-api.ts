// The main flow with the client of @hey-api/openapi-ts.
import { client } from './generated/client.gen.ts'
import {
  cancelCommand,
  createBrokerToken,
  getApplicationEventTopic,
  getCommandTopic,
  getDeviceEventTopics,
  getOrganization,
  listApplications,
  listCommands,
  listDevices,
  listOrganizations,
  login,
  sendCommand,
} from './generated/sdk.gen.ts'
import type { NewCommand, Organization } from './generated/types.gen.ts'

const { BASE_URL: baseUrl = '', USER_NAME: username = '', PASSWORD: password = '' } = process.env
client.setConfig({ baseUrl, throwOnError: true })

const session = await login({ body: { username, password }, throwOnError: true })
client.setConfig({ auth: session.data.jwt })

const throwOnError = true
const organizations = await listOrganizations({ query: { limit: 999, offset: 0 }, throwOnError })
const organization: Organization = organizations.data.result[0]!
const organizationId = organization.id

const applications = await listApplications({ query: { limit: 999, organizationID: organizationId }, throwOnError })
const application = applications.data.result[0]!

const token = await createBrokerToken({ body: { organizationId, ttlInSeconds: '3600' }, throwOnError })

const devices = await listDevices({ query: { applicationID: application.id }, throwOnError })
const devEui = devices.data.result[0]!.devEUI

const eventTopic = await getApplicationEventTopic({
  query: { applicationId: application.id, organizationId },
  throwOnError,
})
const deviceTopics = await getDeviceEventTopics({ query: { devEui, organizationId }, throwOnError })
const commandTopic = await getCommandTopic({ query: { devEui, organizationId }, throwOnError })

const command: NewCommand = { confirmed: true, fPort: 10, data: 'AQID', id: 'hey-api' }
const accepted = await sendCommand({ path: { devEui }, body: { deviceQueueItem: command }, throwOnError })
const queue = await listCommands({ path: { devEui }, throwOnError })
await cancelCommand({ path: { devEui, id: accepted.data.id }, throwOnError })

const refused = await getOrganization({ path: { id: '987654321' }, throwOnError: false })

console.log(
  JSON.stringify({
    organization: organization.displayName,
    application: application.name,
    parts: token.data.jwtMqttAuth.split('.').length,
    eventTopic: eventTopic.data.topic,
    deviceTopics: deviceTopics.data.topic.length,
    commandTopic: commandTopic.data.topic,
    state: accepted.data.state,
    queued: queue.data.deviceQueueItems.some(({ id, state }) => id === accepted.data.id && state === 'queued'),
    refusal: refused.error?.details[0]?.reason,
  }),
)
