/**
 * For every route, the rights with which an API key may use it. The matrix of keys is generated
 * from this table. A route that is missing takes no key.
 */
import type { ApiKeyRight } from '../identity/store/api-key-rights.ts'

const OF_APPLICATIONS: readonly ApiKeyRight[] = [
  'events.read',
  'commands.send',
  'devices.read',
  'devices.write',
  'applications.write',
  'codecs.write',
]
const OF_ORGANIZATIONS: readonly ApiKeyRight[] = [...OF_APPLICATIONS, 'members.write']

/** The routes that keys may use: one of the rights is enough. Every other route takes no key. */
export const KEY_RIGHTS: Readonly<Record<string, readonly ApiKeyRight[]>> = {
  'GET /metrics': ['metrics.read'],
  'GET /api/internal/deployment': OF_ORGANIZATIONS,

  'POST /api/mosquitto-auth/login': ['events.read'],
  'GET /api/mosquitto-auth/subscribe-application-events': ['events.read'],
  'GET /api/mosquitto-auth/subscribe-device-events': ['events.read'],
  'GET /api/mosquitto-auth/subscribe-organization-events': ['events.read'],
  'GET /api/mosquitto-auth/send-command': ['commands.send'],
  'GET /api/broker-tokens': ['events.read'],
  'DELETE /api/broker-tokens/:id': ['events.read'],
  'GET /api/broker-tokens/:id/status': ['events.read'],

  'GET /api/organizations': OF_ORGANIZATIONS,
  'GET /api/organizations/:id': OF_ORGANIZATIONS,
  'GET /api/organizations/:id/bounds': OF_ORGANIZATIONS,
  'GET /api/organizations/:id/users': ['members.write'],
  'POST /api/organizations/:id/users': ['members.write'],
  'GET /api/organizations/:id/users/:userId': ['members.write'],
  'PUT /api/organizations/:id/users/:userId': ['members.write'],
  'DELETE /api/organizations/:id/users/:userId': ['members.write'],

  'GET /api/applications': OF_APPLICATIONS,
  'POST /api/applications': ['applications.write'],
  'GET /api/applications/:id': OF_APPLICATIONS,
  'PUT /api/applications/:id': ['applications.write', 'codecs.write'],
  'DELETE /api/applications/:id': ['applications.write'],
  'POST /api/applications/:id/codec/test': ['codecs.write'],

  'GET /api/applications/:id/events': ['events.read'],
  'GET /api/devices/:devEui/events': ['events.read'],
  'GET /api/devices/:devEui/events/buckets': ['events.read'],
  'GET /api/devices/:devEui/last': ['events.read'],

  'GET /api/registration-rules': OF_APPLICATIONS,
  'POST /api/registration-rules': ['applications.write'],
  'DELETE /api/registration-rules/:id': ['applications.write'],
  'GET /api/unknown-devices': ['devices.write'],
  'POST /api/unknown-devices/register': ['devices.write'],
  'DELETE /api/unknown-devices/:devEui': ['devices.write'],

  'GET /api/device-profiles': OF_APPLICATIONS,
  'POST /api/device-profiles': ['codecs.write'],
  'GET /api/device-profiles/:id': OF_APPLICATIONS,
  'PUT /api/device-profiles/:id': ['codecs.write'],
  'DELETE /api/device-profiles/:id': ['codecs.write'],
  'GET /api/device-profiles/:id/versions': OF_APPLICATIONS,
  'POST /api/device-profiles/:id/restore': ['codecs.write'],
  'POST /api/device-profiles/:id/test': ['codecs.write'],

  'GET /api/device-profiles/:id/library-update': ['codecs.write'],
  'POST /api/device-profiles/:id/library-update': ['codecs.write'],
  'GET /api/device-library': OF_APPLICATIONS,
  'GET /api/device-library/vendors': OF_APPLICATIONS,
  'GET /api/device-library/profiles': OF_APPLICATIONS,
  'GET /api/device-library/profiles/:id': OF_APPLICATIONS,
  'POST /api/device-library/profiles': ['codecs.write'],
  'POST /api/device-library/import': ['codecs.write'],
  'DELETE /api/device-library/sources': ['codecs.write'],

  'GET /api/devices': ['devices.read', 'devices.write'],
  'POST /api/devices': ['devices.write'],
  'GET /api/devices/export': ['devices.read', 'devices.write'],
  'POST /api/devices/import': ['devices.write'],
  'GET /api/devices/:devEui': ['devices.read', 'devices.write'],
  'PUT /api/devices/:devEui': ['devices.write'],
  'DELETE /api/devices/:devEui': ['devices.write'],
  'GET /api/devices/:devEui/queue': ['commands.send', 'devices.read', 'devices.write'],
  'POST /api/devices/:devEui/queue': ['commands.send'],
  'DELETE /api/devices/:devEui/queue': ['commands.send'],
  'DELETE /api/devices/:devEui/queue/:id': ['commands.send'],
}
