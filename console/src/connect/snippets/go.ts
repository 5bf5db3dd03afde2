/** A program for Go and Eclipse Paho. */
import { CA_FILE, COMMAND, RENEWING, scopeMembers } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/** A program for paho.mqtt.golang. It gets new tokens by itself. */
export function go(facts: SnippetFacts): Snippet {
  const text = [
    ...imports(facts),
    ...post(facts),
    ...newToken(facts),
    'func main() {',
    ...(facts.authority === undefined ? [] : TRUST_AUTHORITY),
    ...connect(facts),
    '}',
  ]
  return {
    id: 'go',
    name: 'Go',
    lead: `Save it as main.go, then: go mod init events && go get github.com/eclipse/paho.mqtt.golang && go run . ${RENEWING}`,
    blocks: [{ title: 'main.go', text: text.join('\n') }],
  }
}

/** The packages, and the certificates that the program trusts. */
function imports({ authority }: SnippetFacts): readonly string[] {
  return [
    'package main',
    '',
    'import (',
    '\t"bytes"',
    '\t"crypto/tls"',
    ...(authority === undefined ? [] : ['\t"crypto/x509"']),
    '\t"encoding/json"',
    '\t"fmt"',
    '\t"log"',
    '\t"net/http"',
    '\t"os"',
    '\t"time"',
    '',
    '\tmqtt "github.com/eclipse/paho.mqtt.golang"',
    ')',
    '',
    'var trust = &tls.Config{}',
    '',
  ]
}

/** A function that sends a request to the HTTP interface. */
function post({ origin }: SnippetFacts): readonly string[] {
  return [
    'func post(path, session string, body, answer any) error {',
    '\ttext, _ := json.Marshal(body)',
    `\trequest, err := http.NewRequest("POST", "${origin}"+path, bytes.NewReader(text))`,
    '\tif err != nil {',
    '\t\treturn err',
    '\t}',
    '\trequest.Header.Set("Content-Type", "application/json")',
    '\trequest.Header.Set("Grpc-Metadata-Authorization", "Bearer "+session)',
    '\tclient := http.Client{Transport: &http.Transport{TLSClientConfig: trust}, Timeout: 10 * time.Second}',
    '\tresponse, err := client.Do(request)',
    '\tif err != nil {',
    '\t\treturn err',
    '\t}',
    '\tdefer response.Body.Close()',
    '\tif response.StatusCode != 200 {',
    '\t\treturn fmt.Errorf("%s: %s", path, response.Status)',
    '\t}',
    '\treturn json.NewDecoder(response.Body).Decode(answer)',
    '}',
    '',
  ]
}

/** A function that logs in and gets a token. */
function newToken(facts: SnippetFacts): readonly string[] {
  const { organizationId } = facts
  const more = scopeMembers(facts)
    .map(([name, json]) => `, "${name}": ${json.startsWith('[') ? `[]string{${json.slice(1, -1)}}` : json}`)
    .join('')
  return [
    '// A new token for each connection: when the old one ends, the broker closes the connection, and the client connects again.',
    'func newToken() (string, error) {',
    '\tvar login struct{ Jwt string }',
    '\tvar access struct{ JwtMqttAuth string }',
    '\tcredentials := map[string]string{"username": os.Getenv("FIELDGATE_USER"), "password": os.Getenv("FIELDGATE_PASSWORD")}',
    '\tif err := post("/api/internal/login", "", credentials, &login); err != nil {',
    '\t\treturn "", err',
    '\t}',
    `\twish := map[string]any{"organizationId": "${organizationId}", "ttlInSeconds": "86400"${more}}`,
    '\terr := post("/api/mosquitto-auth/login", login.Jwt, wish, &access)',
    '\treturn access.JwtMqttAuth, err',
    '}',
    '',
  ]
}

/** The part of `main` that trusts the certificate authority of the service. */
const TRUST_AUTHORITY = [
  `\tpem, err := os.ReadFile("${CA_FILE}")`,
  '\tif err != nil {',
  '\t\tlog.Fatal(err)',
  '\t}',
  '\ttrust.RootCAs = x509.NewCertPool()',
  '\ttrust.RootCAs.AppendCertsFromPEM(pem)',
]

/** The client: its credentials, its subscription and the first connection. */
function connect({ host, port, token, eventTopic, commandTopic, clientId }: SnippetFacts): readonly string[] {
  return [
    '\t// Without it, the client says nothing of a refused connection.',
    '\tmqtt.ERROR = log.Default()',
    `\toptions := mqtt.NewClientOptions().AddBroker("ssl://${host}:${port}").SetTLSConfig(trust)`,
    `\toptions.SetClientID("${clientId}").SetCleanSession(false)`,
    `\ttoken := "${token}"`,
    '\toptions.SetCredentialsProvider(func() (string, string) {',
    '\t\tif os.Getenv("FIELDGATE_USER") == "" {',
    '\t\t\treturn token, "default"',
    '\t\t}',
    '\t\tif renewed, err := newToken(); err != nil {',
    '\t\t\tlog.Println(err)',
    '\t\t} else {',
    '\t\t\ttoken = renewed',
    '\t\t}',
    '\t\treturn token, "default"',
    '\t})',
    '\toptions.SetDefaultPublishHandler(func(_ mqtt.Client, message mqtt.Message) {',
    '\t\tfmt.Println(message.Topic(), string(message.Payload()))',
    '\t})',
    '\toptions.SetOnConnectHandler(func(client mqtt.Client) {',
    `\t\tdone := client.Subscribe("${eventTopic}", 1, nil)`,
    '\t\tif done.Wait() && done.Error() != nil {',
    '\t\t\tlog.Fatal(done.Error())',
    '\t\t}',
    '\t})',
    '\tclient := mqtt.NewClient(options)',
    '\tif done := client.Connect(); done.Wait() && done.Error() != nil {',
    '\t\tlog.Fatal(done.Error())',
    '\t}',
    ...(commandTopic === undefined
      ? []
      : ['\t// A command:', `\t// client.Publish("${commandTopic}", 1, false, \`${COMMAND}\`)`]),
    '\tselect {}',
  ]
}
