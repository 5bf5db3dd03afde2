/** The remedy of each refusal of the broker, in a sentence. */

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['token_expired', 'Create a new token, and enter it in the client as the user name.'],
  ['token_revoked', 'Create a new token, and enter it in the client as the user name.'],
  ['token_malformed', 'Enter the whole token as the user name: it is one line without spaces.'],
  ['token_signature_invalid', 'Copy the token again, and check that it is a token of this service.'],
  ['token_wrong_audience', 'Create a broker-access token: the token of a session does not open the broker.'],
  ['api_key_ended', 'Make a new API key, or a new token by a key that stands.'],
  ['user_inactive', 'Create a token as a user who is active.'],
  ['not_a_member', 'Add the user to the organization again, or create a token as another member.'],
  ['user_name_invalid', 'Enter the whole token as the user name.'],
  ['password_invalid', 'Enter the word default as the password, in small letters.'],
  ['service_credential_invalid', 'Enter the user name and the password of a service credential, or issue a new one.'],
  ['client_id_invalid', 'Choose a shorter Client Identifier.'],
  ['too_many_connections', 'Close clients that are not needed, or raise the bound of the organization.'],
  ['too_many_sessions', 'Use the same Client Identifiers again, or raise the bound of the organization.'],
  ['connection_rate', 'Let the clients wait longer before they connect again.'],
  ['tls_missing', 'Switch TLS on in the client: the port takes mqtts:// only.'],
  ['event_device_unknown', 'Register the device in the application that the network server names.'],
  ['event_topic_invalid', 'Set the topics of the network server to application/<id>/device/<DevEUI>/event/<kind>.'],
  ['device_disabled', 'Enable the device on its page.'],
  ['subscribe_outside_scope', 'Create a token whose limits include this topic.'],
  ['too_many_subscriptions', 'Subscribe to whole applications in the place of single devices.'],
])

/** The remedy of a refusal; for other codes, the page that explains all of them. */
export function remedyOf(code: string): string {
  return REMEDIES.get(code) ?? `The documentation explains the code ${code} on its page "Errors".`
}
