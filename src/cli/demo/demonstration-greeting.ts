/**
 * The greeting of a running demonstration, with commands that work when they are pasted into
 * another terminal.
 */

/** The values in the greeting. */
export interface GreetingFacts {
  /** The address of the HTTP API, such as `https://localhost:8443`. */
  readonly httpsAddress: string
  readonly mqttsHost: string
  readonly mqttsPort: number
  /** An absolute path; undefined when the system's own authorities know the certificate. */
  readonly caFile: string | undefined
  readonly logins: readonly Login[]
  /** The broker-access token of the first login's user. */
  readonly jwtMqttAuth: string
  readonly tokenTtlSeconds: number
  readonly eventTopic: string
  readonly commandTopic: string
  readonly applicationName: string
  readonly deviceName: string
  readonly organizationName: string
  readonly isFlowing: boolean
}

/** A user of the demonstration. `password` is undefined when it was changed since the set-up. */
export interface Login {
  readonly userName: string
  readonly password: string | undefined
  readonly role: string
}

/** The text of the greeting, for standard output. */
export function demonstrationGreeting(facts: GreetingFacts): string {
  const { httpsAddress, caFile, mqttsHost, mqttsPort, jwtMqttAuth } = facts
  const state = facts.isFlowing ? 'Events are flowing.' : 'No event has come yet; the log above should say why.'
  const logins = facts.logins.map(
    ({ userName, password, role }) => `${userName.padEnd(6)} ${password ?? '(its password was changed)'}   ${role}`,
  )
  const broker = [
    `-h ${mqttsHost} -p ${mqttsPort}`,
    caFile === undefined ? '--capath /etc/ssl/certs' : `--cafile ${quoted(caFile)}`,
    `-u ${jwtMqttAuth} -P default`,
  ].join(' ')
  const [login] = facts.logins
  const body = JSON.stringify({ username: login?.userName, password: login?.password ?? 'its-password' })
  const command = JSON.stringify({ confirmed: true, fPort: 8, data: 'AA==' })
  return `
Fieldgate’s demonstration is running. ${state} Ctrl-C stops it.

  Console         ${httpsAddress}
  API reference   ${httpsAddress}/api/docs
  Documentation   ${httpsAddress}/docs
  Log in as       ${logins.join('\n                  ')}
  CA certificate  ${caFile ?? '(the system’s)'}

The lines below work in another terminal. Their token is ${login?.userName}’s, for ${facts.organizationName}, and lives ${hours(facts.tokenTtlSeconds)}.

Log in:

curl -sS ${caFile === undefined ? '' : `--cacert ${quoted(caFile)} `}-H 'Content-Type: application/json' -d ${quoted(body)} ${httpsAddress}/api/internal/login

Watch the events of the application ${facts.applicationName}:

mosquitto_sub ${broker} -q 1 -t ${quoted(facts.eventTopic)} -F '%t %p'

Shut a valve: the device ${facts.deviceName} receives the command after its next uplink and answers with txack and ack:

mosquitto_pub -V mqttv5 ${broker} -q 1 -t ${quoted(facts.commandTopic)} -m ${quoted(command)}

`
}

/** Quotes a text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function hours(seconds: number): string {
  return seconds >= 7200 ? `${Math.floor(seconds / 3600)} hours` : `${seconds} seconds`
}
