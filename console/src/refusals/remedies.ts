/** The remedy of a refusal, for the reasons that people can do something about. */
const REMEDIES: Readonly<Record<string, string>> = {
  token_expired: 'Create a new token on the page Connect, and enter it in the client.',
  token_revoked: 'Somebody revoked the token, or an older backup was restored. Create a new one on the page Connect.',
  token_malformed: 'The user name is not a whole token. Copy it again: it is one line without spaces.',
  token_signature_invalid: 'The token belongs to another service, or was changed on its way. Copy it again.',
  token_wrong_audience: 'A session was used in the place of a broker token. Create a token on the page Connect.',
  api_key_ended: 'The API key of the program was revoked, has expired, or stands with nobody. See the page API keys.',
  not_a_member: 'Its user is no member of the organization any more.',
  user_inactive: 'Its user was deactivated or removed.',
  user_name_invalid: 'The user name must be the whole token, and nothing else.',
  tls_missing: 'Switch TLS on in the client: the port takes mqtts:// only. The address shows where it runs.',
  password_invalid: 'The user name alone is secret. The password is default, in small letters, for everybody.',
  service_credential_invalid:
    'User name or password of the network server is wrong. Issue a new credential if it is lost.',
  registry_unavailable: 'The database of the service is away. Clients that try again come in when it is back.',
  node_draining: 'Clients that try again reach another node, or the same one when it runs again.',
  client_id_invalid: 'Choose a shorter client id.',
  too_many_connections:
    'Close clients that are not needed, or let several share one connection. The page Bounds shows how many the organization may have.',
  too_many_sessions:
    'Use the same client ids again, or connect with Clean Start. The page Bounds shows how many Sessions the organization may have.',
  connection_rate: 'Let the clients wait longer before they connect again. The page Bounds shows the bound.',
  retained_quota: 'The page Bounds shows how many retained messages the organization may have.',
  subscribe_not_granted: 'Subscribe to a topic as the page Connect shows it.',
  subscribe_wildcard_not_granted:
    'Wildcards across applications are not allowed. Subscribe to each application with the topic that the page Connect shows.',
  subscribe_application_not_granted:
    'Check the application in the topic. If another organization has it, the client needs a token of that organization.',
  subscribe_outside_scope: 'The token is for a part of the organization. The page Tokens shows for which part.',
  publish_read_only: 'Make a token that may send commands, as a user who is not a read-only member.',
  publish_not_granted:
    'Commands go to the command topic of a device of the organization, as the page Connect shows it.',
  event_device_unknown: 'Create or import the device, with the application that the network server names.',
  event_topic_invalid: 'Set the topics of the network server to application/<id>/device/<DevEUI>/event/<kind>.',
  device_disabled: 'Enable the device on its page.',
  topic_filter_invalid: 'Look at the topic: a wildcard stands alone between two slashes.',
  too_many_subscriptions:
    'Subscribe to whole applications instead of single devices. The page Bounds shows how many subscriptions the organization may have.',
}

/** A sentence for people; undefined where there is nothing to add. */
export function remedyOf(code: string): string | undefined {
  return REMEDIES[code]
}

/** The codes that have a remedy. */
export const REMEDIED_CODES: readonly string[] = Object.keys(REMEDIES)
