/**
 * An example of each operation as JSON, by the operation's id. `npm run examples` has recorded
 * them by the requests of the access matrix.
 */
export const EXAMPLES: Readonly<Record<string, string>> = {
  addMember:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"organizationUser":{"email":"fresh-42@example.org","isDeviceAdmin":true}}},"answer":{"mediaType":"application/json","value":{}}}',
  askEmqxAuthentication:
    '{"request":{"mediaType":"application/json","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","password":"default","clientid":"1-a"}},"answer":{"mediaType":"application/json","value":{"result":"allow","is_superuser":false,"expire_at":1768564800}}}',
  askEmqxAuthorization:
    '{"request":{"mediaType":"application/json","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","action":"publish","topic":"application/1/device/0101010101010101/command/down"}},"answer":{"mediaType":"application/json","value":{"result":"allow"}}}',
  askMosquittoAcl:
    '{"request":{"mediaType":"application/json","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","clientid":"a","topic":"application/1/device/0101010101010101/command/down","acc":2}},"answer":{"mediaType":"application/json","value":{"ok":true,"error":""}}}',
  askMosquittoSuperuser:
    '{"request":{"mediaType":"application/json","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"}},"answer":{"mediaType":"application/json","value":{"ok":true,"error":""}}}',
  askMosquittoUser:
    '{"request":{"mediaType":"application/json","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","password":"default","clientid":"1-a"}},"answer":{"mediaType":"application/json","value":{"ok":true,"error":""}}}',
  askRabbitResource:
    '{"request":{"mediaType":"application/x-www-form-urlencoded","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","vhost":"/","resource":"exchange","name":"amq.topic","permission":"write"}},"answer":{"mediaType":"text/plain","value":"allow"}}',
  askRabbitTopic:
    '{"request":{"mediaType":"application/x-www-form-urlencoded","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","vhost":"/","name":"amq.topic","permission":"write","routing_key":"application.1.device.0101010101010101.command.down"}},"answer":{"mediaType":"text/plain","value":"allow"}}',
  askRabbitUser:
    '{"request":{"mediaType":"application/x-www-form-urlencoded","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","password":"default"}},"answer":{"mediaType":"text/plain","value":"allow"}}',
  askRabbitVhost:
    '{"request":{"mediaType":"application/x-www-form-urlencoded","value":{"username":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","vhost":"/"}},"answer":{"mediaType":"text/plain","value":"allow"}}',
  cancelCommand:
    '{"parameters":{"devEui":"a000000000000049","id":"valve-7"},"answer":{"mediaType":"application/json","value":{}}}',
  cancelCommands:
    '{"parameters":{"devEui":"a000000000000048"},"answer":{"mediaType":"application/json","value":{"cancelled":[],"sent":[]}}}',
  changeOwnPassword:
    '{"request":{"mediaType":"application/json","value":{"oldPassword":"correct horse battery staple","password":"correct horse battery staple"}},"answer":{"mediaType":"application/json","value":{}}}',
  configureTotp:
    '{"request":{"mediaType":"application/json","value":{"qrCodeSize":64}},"answer":{"mediaType":"application/json","value":{"url":"otpauth://totp/Fieldgate:anna@example.org?secret=JBSWY3DPEHPK3PXP&issuer=Fieldgate","secret":"JBSWY3DPEHPK3PXP","recoveryCode":["01234-abcde","56789-fghij"],"qrCode":"iVBORw0KGgo="}}}',
  createApiKey:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"apiKey":{"name":"new 133","rights":["events.read"]}}},"answer":{"mediaType":"application/json","value":{"id":"RkuFYPkHMQ5Y","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createApplication:
    '{"request":{"mediaType":"application/json","value":{"application":{"name":"new-54","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"3"}}}',
  createBrokerToken:
    '{"request":{"mediaType":"application/json","value":{"organizationId":"1","ttlInSeconds":"60"}},"answer":{"mediaType":"application/json","value":{"jwtMqttAuth":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"}}}',
  createDeploymentApiKey:
    '{"request":{"mediaType":"application/json","value":{"apiKey":{"name":"new 140","rights":["events.read"]}}},"answer":{"mediaType":"application/json","value":{"id":"pJ373HvLsEW7","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createDevice:
    '{"request":{"mediaType":"application/json","value":{"device":{"devEUI":"a000000000000040","name":"new 64","applicationID":"1"}}},"answer":{"mediaType":"application/json","value":{"devEUI":"a000000000000040"}}}',
  createDeviceProfile:
    '{"request":{"mediaType":"application/json","value":{"deviceProfile":{"name":"made-85","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"08fbfc9d-87dc-425f-a5bf-70ea1bc1987c"}}}',
  createMetricsToken:
    '{"request":{"mediaType":"application/json","value":{"metricsToken":{"name":"scraper 115"}}},"answer":{"mediaType":"application/json","value":{"id":"7aa3e569-562a-4bb0-8f64-2f6120bc4d0c","token":"fgm_AAAAAAAAAAAAAA_A_AAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createNetworkServer:
    '{"request":{"mediaType":"application/json","value":{"networkServer":{"name":"main","url":"http://chirpstack:8080","apiKey":"a-key"}}},"answer":{"mediaType":"application/json","value":{"name":"main","trial":{"outcome":"works","answer":"It works.","tenants":[{"id":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","name":"Valley","applications":2}]}}}}',
  createOrganization:
    '{"request":{"mediaType":"application/json","value":{"organization":{"name":"new-35"}}},"answer":{"mediaType":"application/json","value":{"id":"3"}}}',
  createRegistrationRule:
    '{"request":{"mediaType":"application/json","value":{"registrationRule":{"applicationID":"1","devEUIPrefix":"ff"}}},"answer":{"mediaType":"application/json","value":{"id":"7d29980b-86f6-46d1-bec2-35be65bb1aec"}}}',
  createServiceCredential:
    '{"request":{"mediaType":"application/json","value":{"serviceCredential":{"name":"new-112","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"bf54a8d7-ec40-429a-8e72-08dddcb21545","userName":"network-server-bf54a8d7-ec40-429a-8e72-08dddcb21545","password":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createUser:
    '{"request":{"mediaType":"application/json","value":{"user":{"email":"new-47@example.org"},"password":"correct horse battery staple"}},"answer":{"mediaType":"application/json","value":{"id":"11"}}}',
  createWebhook:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"webhook":{"name":"Billing","url":"https://billing.example.org/events","concurrency":1}}},"answer":{"mediaType":"application/json","value":{"id":"2d625f0d-6589-446e-80bd-95bb0fe8ecd6","secret":"JBSWY3DPEHPK3PXP"}}}',
  deleteApplication: '{"parameters":{"id":"6"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteDevice: '{"parameters":{"devEui":"a000000000000045"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteDeviceProfile:
    '{"parameters":{"id":"2c483e0d-7345-4a6a-b55b-f0bfe6285b5b"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteInventoryStep:
    '{"parameters":{"networkServer":"main","organizationID":"1"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteLibrarySource:
    '{"parameters":{"name":"Collection"},"answer":{"mediaType":"application/json","value":{"profileCount":1}}}',
  deleteNetworkServer: '{"parameters":{"name":"main"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteOrganization: '{"parameters":{"id":"4"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteRegistrationRule:
    '{"parameters":{"id":"aabedea1-11e7-4d6d-addb-e2c8f1411a21","organizationID":"1"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteUser: '{"parameters":{"id":"14"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteWebhook:
    '{"parameters":{"id":"1","webhookId":"b09eca0a-8f54-4b7e-9c85-77d3112476af"},"answer":{"mediaType":"application/json","value":{}}}',
  diagnose:
    '{"parameters":{"organizationID":"1","clientId":"dashboard"},"answer":{"mediaType":"application/json","value":{"isWell":false,"cause":"client_unknown","sentence":"No client dashboard is connected, has a Session, or was refused since the service started. Check the address, the port, TLS and the Client Identifier in the client.","steps":[{"step":"subscription","status":"unknown","code":"","sentence":"The subscriptions of the client are not known.","advice":"","facts":[]},{"step":"token","status":"unknown","code":"","sentence":"The token of the client is not known.","advice":"","facts":[]},{"step":"connection","status":"problem","code":"client_unknown","sentence":"No client dashboard is connected, has a Session, or was refused since the service started.","advice":"Check the address, the port, TLS and the Client Identifier in the client.","facts":[]},{"step":"delivery","status":"unknown","code":"","sentence":"Nothing is delivered while the client is away.","advice":"","facts":[]}]}}}',
  disableTotp:
    '{"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  drain:
    '{"request":{"mediaType":"application/json","value":{"seconds":10}},"answer":{"mediaType":"application/json","value":{"connections":0}}}',
  enableTotp:
    '{"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  endConnection: '{"parameters":{"id":"c1"},"answer":{"mediaType":"application/json","value":{}}}',
  exportDevices:
    '{"parameters":{"applicationID":"1"},"answer":{"mediaType":"text/csv","value":"devEUI,name,description,applicationID,profile,deviceProfileID,deviceProfileName,isDisabled\\r\\n0101010101010101,device 0101010101010101,,1,,,,false\\r\\na000000000000040,new 64,,1,,,,false\\r\\n"}}',
  forgetConsoleSession: '{"answer":{"mediaType":"application/json","value":{}}}',
  forgetUnknownDevice:
    '{"parameters":{"devEui":"b00000000000007d","organizationID":"1"},"answer":{"mediaType":"application/json","value":{}}}',
  getApiKey:
    '{"parameters":{"id":"1","keyId":"0Y6sDsOtxuab"},"answer":{"mediaType":"application/json","value":{"id":"0Y6sDsOtxuab","organizationID":"1","name":"fresh 134","rights":["events.read"],"scope":null,"expiresAt":null,"state":"in_force","makerUserID":"4","makerName":"organization-admin@example.org","createdAt":"2026-01-15T12:04:26.000Z","rotatedAt":null,"oldSecretUntil":null,"lastUsedAt":null,"lastUsedAddress":""}}}',
  getApplication:
    '{"parameters":{"id":"4"},"answer":{"mediaType":"application/json","value":{"application":{"id":"4","name":"fresh-55","description":"fresh-55 of the test","organizationID":"1","serviceProfileID":"profile-1","serviceProfileName":"Profile 1","eventShape":"","objectCommands":"","retainsLastEvents":false,"payloadCodec":"","payloadEncoderScript":"","payloadDecoderScript":""},"createdAt":"2026-01-15T12:01:48.000Z","updatedAt":"2026-01-15T12:01:48.000Z"}}}',
  getApplicationEventTopic:
    '{"parameters":{"applicationId":"1","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":"Topic for subscribing to application 1: \'application/1/device/+/event/+\'"}}}',
  getAsyncApiDocument:
    '{"answer":{"mediaType":"application/json","value":{"asyncapi":"3.0.0","defaultContentType":"application/json"}}}',
  getBrokerTokenStatus:
    '{"parameters":{"id":"61f5053a-9647-4ba9-9044-9dfd96b84ceb"},"answer":{"mediaType":"application/json","value":{"connections":[],"connectionCount":0,"lastRefusal":null}}}',
  getCertificateAuthority:
    '{"answer":{"mediaType":"application/x-pem-file","value":"-----BEGIN CERTIFICATE-----\\n-----END CERTIFICATE-----\\n"}}',
  getCommandTopic:
    '{"parameters":{"devEui":"0101010101010101","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":"Topic for publishing to device 0101010101010101: \'application/1/device/0101010101010101/command/down\'"}}}',
  getDeployment:
    '{"answer":{"mediaType":"application/json","value":{"mqttsHost":"localhost","mqttsPort":8883,"brokerTokenDefaultTtlSeconds":86400,"brokerTokenMaximumTtlSeconds":31557600,"hasOwnAuthority":true}}}',
  getDeploymentApiKey:
    '{"parameters":{"keyId":"ulrAfWnXPDdB"},"answer":{"mediaType":"application/json","value":{"id":"ulrAfWnXPDdB","organizationID":"","name":"fresh 141","rights":["events.read"],"scope":null,"expiresAt":null,"state":"in_force","makerUserID":"6","makerName":"global-admin@example.org","createdAt":"2026-01-15T12:04:40.000Z","rotatedAt":null,"oldSecretUntil":null,"lastUsedAt":null,"lastUsedAddress":""}}}',
  getDevice:
    '{"parameters":{"devEui":"a000000000000043"},"answer":{"mediaType":"application/json","value":{"device":{"devEUI":"a000000000000043","name":"device a000000000000043","applicationID":"1","description":"","deviceProfileID":"","deviceProfileName":"","isDisabled":false,"tags":{},"variables":{}},"organizationID":"1","state":"NEVER_HEARD","stateSince":null,"lowBattery":false,"weakSignal":false,"losingFrames":false,"intervalSeconds":null,"lossPercent":null,"rssi":null,"snr":null,"deviceStatusBatteryLevel":null,"deviceStatusMargin":null,"lastSeenAt":null,"createdAt":"2026-01-15T12:02:12.000Z","updatedAt":"2026-01-15T12:02:12.000Z"}}}',
  getDeviceEventTopics:
    '{"parameters":{"devEui":"0101010101010101","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":["Topic for subscribing to device 0101010101010101 on event up: \'application/1/device/0101010101010101/event/up\'","Topic for subscribing to device 0101010101010101 on event join: \'application/1/device/0101010101010101/event/join\'","Topic for subscribing to device 0101010101010101 on event ack: \'application/1/device/0101010101010101/event/ack\'","Topic for subscribing to device 0101010101010101 on event error: \'application/1/device/0101010101010101/event/error\'","Topic for subscribing to device 0101010101010101 on event status: \'application/1/device/0101010101010101/event/status\'","Topic for subscribing to device 0101010101010101 on event location: \'application/1/device/0101010101010101/event/location\'","Topic for subscribing to device 0101010101010101 on event txack: \'application/1/device/0101010101010101/event/txack\'","Topic for subscribing to device 0101010101010101 on all events: \'application/1/device/0101010101010101/event/+\'"]}}}',
  getDeviceLibrary:
    '{"answer":{"mediaType":"application/json","value":{"profileCount":1,"regions":["EU868","US915"],"sources":[{"name":"Collection","licence":"MIT","version":"abc","profileCount":1,"updatedAt":"2026-01-15T12:03:02.000Z"}]}}}',
  getDeviceProfile:
    '{"parameters":{"id":"10d84994-ebca-45d6-b999-c56d6c8619e9"},"answer":{"mediaType":"application/json","value":{"deviceProfile":{"id":"10d84994-ebca-45d6-b999-c56d6c8619e9","libraryProfileID":"","libraryRevision":0,"hasLibraryUpdate":false,"organizationID":"1","name":"fresh-86","description":"","vendor":"","model":"","firmwareVersion":"","region":"","deviceClass":"","payloadCodec":"","expectedIntervalSeconds":0,"batteryLimitPercent":null,"marginLimitDb":null,"fPortRules":[],"source":null,"tags":{},"variables":{},"codecVersion":1,"createdAt":"2026-01-15T12:02:50.000Z","updatedAt":"2026-01-15T12:02:50.000Z","payloadDecoderScript":"","payloadEncoderScript":"","testVectors":[]},"deviceCount":0}}}',
  getDeviceProfileLibraryUpdate:
    '{"parameters":{"id":"d6270335-7594-445c-bd1e-770fac15659f"},"answer":{"mediaType":"application/json","value":{"isThere":true,"revision":1,"members":["description","region","deviceClass","payloadCodec","payloadDecoderScript","payloadEncoderScript","testVectors","source"],"breaks":[],"source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"}}}}',
  getEventSchema:
    '{"parameters":{"family":"a","file":"up.json"},"answer":{"mediaType":"application/json","value":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://localhost:8443/api/schemas/v1/events/a/up.json","title":"UpEventA","description":"A device has sent data.","type":"object"}}}',
  getLibraryProfile:
    '{"parameters":{"id":"67a868b7-50d9-4f10-a024-44917697e642"},"answer":{"mediaType":"application/json","value":{"libraryProfile":{"id":"67a868b7-50d9-4f10-a024-44917697e642","vendor":"Maker","model":"Meter 1","firmwareVersion":"1.0","description":"A water meter","regions":[{"region":"EU868","deviceClass":"A"},{"region":"US915","deviceClass":"C"}],"payloadCodec":"CUSTOM_JS","source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"},"fPortRules":[],"revision":1,"failedExamples":0,"vectorCount":1,"createdAt":"2026-01-15T12:03:02.000Z","updatedAt":"2026-01-15T12:03:08.000Z","payloadDecoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","payloadEncoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","testVectors":[{"name":"five","fPort":1,"bytes":"05","expected":{"data":{"a":5}}}]}}}}',
  getLiveness: '{"answer":{"mediaType":"application/json","value":{"live":true}}}',
  getMember:
    '{"parameters":{"id":"1","userId":"8"},"answer":{"mediaType":"application/json","value":{"organizationUser":{"userID":"8","username":"fresh-43@example.org","email":"fresh-43@example.org","isAdmin":false,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false},"createdAt":"2026-01-15T12:01:24.000Z","updatedAt":"2026-01-15T12:01:24.000Z"}}}',
  getMessageSchema:
    '{"parameters":{"group":"commands","file":"command.json"},"answer":{"mediaType":"application/json","value":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://localhost:8443/api/schemas/v1/commands/command.json","title":"Command","description":"A downlink command for one device. At least one of `data` and `object` must be there."}}}',
  getMetrics:
    '{"answer":{"mediaType":"text/plain","value":"# HELP fieldgate_http_request_duration_seconds Time from the arrival of a request to the end of its answer.\\n# TYPE fieldgate_http_request_duration_seconds histogram\\nfieldgate_http_request_duration_sec"}}',
  getOpenApiDocument: '{"answer":{"mediaType":"application/json","value":{"openapi":"3.1.0"}}}',
  getOrganization:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"organization":{"id":"1","name":"acme","displayName":"Acme Metering","canHaveGateways":true},"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}}}',
  getOrganizationBounds:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"bounds":[{"name":"connections","unit":"count","description":"MQTT connections that one organization may hold at the same time.","maximum":10000,"deploymentMaximum":10000,"isOverridden":false,"used":null,"isNear":false},{"name":"connectsPerSecond","unit":"per second","description":"MQTT connections that one organization may open in a second, on average over ten seconds. A site with 2,000 clients may come back at once.","maximum":200,"deploymentMaximum":200,"isOverridden":false,"used":3.3,"isNear":false},{"name":"sessions","unit":"count","description":"MQTT Sessions that one organization may have at the same time. Each connection has a Session; Sessions without a connection count too.","maximum":10000,"deploymentMaximum":10000,"isOverridden":false,"used":8000,"isNear":true},{"name":"subscriptions","unit":"count","description":"Subscriptions that all Sessions of one organization may have together.","maximum":50000,"deploymentMaximum":50000,"isOverridden":false,"used":7,"isNear":false},{"name":"topicFilterBytes","unit":"bytes","description":"Bytes that the Topic Filters of these subscriptions may have together.","maximum":16777216,"deploymentMaximum":16777216,"isOverridden":false,"used":null,"isNear":false},{"name":"retainedMessages","unit":"count","description":"Retained messages that are kept for one organization: those on the topics of its devices, whoever publishes them.","maximum":10000,"deploymentMaximum":10000,"isOverridden":false,"used":null,"isNear":false},{"name":"retainedBytes","unit":"bytes","description":"Bytes that the retained messages of one organization may have together. 268435456 is the bound for all organizations.","maximum":33554432,"deploymentMaximum":33554432,"isOverridden":false,"used":null,"isNear":false},{"name":"storedBytes","unit":"bytes","description":"Bytes of stored messages that one organization may have. When this limit is reached, the organization’s own oldest messages are deleted first.","maximum":8589934592,"deploymentMaximum":8589934592,"isOverridden":false,"used":null,"isNear":false}]}}}',
  getOrganizationEventTopic:
    '{"parameters":{"organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":"Topic for subscribing to organization 1: \'application/+/device/+/event/+\'"}}}',
  getProfile:
    '{"answer":{"mediaType":"application/json","value":{"user":{"id":"4","username":"organization-admin@example.org","email":"organization-admin@example.org","isAdmin":false,"isActive":true,"createdAt":"2026-01-15T12:00:00.000Z"},"organizations":[{"organizationID":"1","organizationName":"acme","isAdmin":true,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false}],"is2faEnabled":false}}}',
  getPublicKeys:
    '{"answer":{"mediaType":"application/json","value":{"keys":[{"kty":"EC","crv":"P-256","x":"XHnEE1Uowtphir-h_5TKraVSdpz4juKZirvR0tCqlOE","y":"26JzDLfq10f0ErxiMfRJramaRulzh9zoroJfwGRoHv4","kid":"jVmd8TjX-jiy0dildhHNxGrLUnvSg9aODHMpZ4iwhIA","alg":"ES256","use":"sig"}]}}}',
  getReadiness: '{"answer":{"mediaType":"application/json","value":{"live":true,"ready":true}}}',
  getSchemaIndex:
    '{"answer":{"mediaType":"application/json","value":{"version":"v1","schemas":[{"title":"UpEventA","description":"A device has sent data.","direction":"received","schema":"https://localhost:8443/api/schemas/v1/events/a/up.json","sample":"https://localhost:8443/api/schemas/v1/events/a/up.sample.json"}]}}}',
  getStatus:
    '{"answer":{"mediaType":"application/json","value":{"isWell":false,"version":"1.2.3","runtime":"Bun 1.4.5","startedAt":"2026-01-15T12:00:00.000Z","uptimeSeconds":260,"numbers":null}}}',
  getTotpStatus: '{"answer":{"mediaType":"application/json","value":{"enabled":false}}}',
  getUser:
    '{"parameters":{"id":"12"},"answer":{"mediaType":"application/json","value":{"user":{"id":"12","username":"fresh-48@example.org","email":"fresh-48@example.org","isAdmin":false,"isActive":true,"note":""},"is2faEnabled":false,"createdAt":"2026-01-15T12:01:34.000Z","updatedAt":"2026-01-15T12:01:34.000Z"}}}',
  getWebhook:
    '{"parameters":{"id":"1","webhookId":"39c770ab-8afd-4732-be25-87061312fe20"},"answer":{"mediaType":"application/json","value":{"webhook":{"id":"39c770ab-8afd-4732-be25-87061312fe20","name":"Billing","url":"https://billing.example.org/events","headerNames":[],"concurrency":1,"timeoutSeconds":10,"giveUpSeconds":60,"onRefused":"pause","acceptsCommands":false,"pausedAt":null,"pauseCode":"","pauseReason":"","secretsInForce":1,"createdAt":"2026-01-15T12:02:30.000Z","updatedAt":"2026-01-15T12:02:30.000Z"},"standing":{"state":"running","waitingEvents":0,"isAtTail":true,"requestsUnderWay":0,"deliveredAt":"2026-01-15T12:02:30.000Z","failingSince":null,"nextTryAt":null,"missedAtMost":0,"eventsDelivered":1,"eventsSkipped":0}}}}',
  getWellKnownPublicKeys:
    '{"answer":{"mediaType":"application/json","value":{"keys":[{"kty":"EC","crv":"P-256","x":"XHnEE1Uowtphir-h_5TKraVSdpz4juKZirvR0tCqlOE","y":"26JzDLfq10f0ErxiMfRJramaRulzh9zoroJfwGRoHv4","kid":"jVmd8TjX-jiy0dildhHNxGrLUnvSg9aODHMpZ4iwhIA","alg":"ES256","use":"sig"}]}}}',
  handOverApiKey:
    '{"parameters":{"id":"1","keyId":"9wpgQYTyU66S"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  handOverDeploymentApiKey:
    '{"parameters":{"keyId":"LPuMI4RWHAkE"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  importDevices:
    '{"parameters":{"applicationID":"1"},"request":{"mediaType":"text/csv","value":"devEUI,name\\na000000000000042,imported 66\\n"},"answer":{"mediaType":"application/json","value":{"dryRun":false,"isComplete":true,"stopped":"","totalCount":"1","createdCount":"1","updatedCount":"0","unchangedCount":"0","refusedCount":"0","unknownColumns":[],"errors":[]}}}',
  importInventory:
    '{"parameters":{"networkServer":"main"},"request":{"mediaType":"application/json","value":{"organizationID":"1","dryRun":true,"inventoryImport":{"createApplications":true}}},"answer":{"mediaType":"application/json","value":{"dryRun":true,"createdCount":1,"updatedCount":0,"unchangedCount":0,"refusedCount":0,"missingCount":0,"removedCount":0,"applications":[{"networkServerApplicationID":"7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11","name":"Water","applicationID":"1","outcome":"unchanged","reason":"","message":""}],"deviceProfiles":[{"networkServerProfileID":"3c4c7f6e-36c1-4a8a-8a4b-5f8d1f4f2f0a","name":"Water meter","deviceProfileID":"","members":[],"outcome":"created","reason":"","message":""}],"devices":[{"devEUI":"0101010101010101","joinEUI":"0202020202020202","name":"meter 1","applicationID":"1","members":[],"outcome":"created","reason":"","message":""}],"missingDevEUIs":[]}}}',
  importLibraryArchive:
    '{"parameters":{"dryRun":"true"},"request":{"mediaType":"application/zip","value":"PK"},"answer":{"mediaType":"application/json","value":{"dryRun":true,"layout":"ChirpStack device profiles","createdCount":1,"changedCount":0,"unchangedCount":0,"keptCount":0,"refusedCount":0,"profiles":[{"vendor":"Maker","model":"Meter","firmwareVersion":"1.0","regions":[],"outcome":"created"}],"problems":[]}}}',
  importLibraryProfiles:
    '{"request":{"mediaType":"application/json","value":{"profiles":[{"vendor":"Maker","model":"Meter 1","firmwareVersion":"1.0","description":"A water meter","regions":[{"region":"EU868","deviceClass":"A"},{"region":"US915","deviceClass":"C"}],"fPortRules":[],"payloadCodec":"CUSTOM_JS","payloadDecoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","payloadEncoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","testVectors":[{"name":"five","fPort":1,"bytes":"05","expected":{"data":{"a":5}}}],"source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"}}]}},"answer":{"mediaType":"application/json","value":{"dryRun":false,"layout":"","createdCount":0,"changedCount":0,"unchangedCount":1,"keptCount":0,"refusedCount":0,"profiles":[],"problems":[]}}}',
  keepConsoleSession: '{"answer":{"mediaType":"application/json","value":{}}}',
  listApiKeys:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listApplicationEvents:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"result":[{"id":"37-5021","time":"2026-01-15T12:00:00.000Z","applicationID":"1","devEUI":"0101010101010101","kind":"status","qos":1,"event":{"applicationID":"5","applicationName":"meters","deviceName":"Meter 1","devEUI":"0102030405060708","margin":10,"externalPowerSource":false,"batteryLevel":78.74,"batteryLevelUnavailable":false,"tags":{"valley":"north"}}}],"nextCursor":""}}}',
  listApplications:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"1","name":"meters","description":"meters of the test","organizationID":"1","serviceProfileID":"profile-1","serviceProfileName":"Profile 1"}]}}}',
  listAuditEntries:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"91","result":[{"id":"131","at":"2026-01-15T12:04:02.000Z","actor":"user","actorUserID":"6","actorName":"global-admin@example.org","actorApiKeyID":"","action":"registration_rule.removed","subject":"aabedea1-11e7-4d6d-addb-e2c8f1411a21","organizationID":"1","detail":{}}]}}}',
  listBrokerTokens:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"2","result":[{"id":"82d4224a-3e36-4ac1-a59a-d4e7e2d11504","userID":"4","apiKeyID":"","organizationID":"1","issuedAt":"2026-01-15T12:00:50.000Z","expiresAt":"2026-01-15T12:01:50.000Z","lastUsedAt":null,"scope":null,"connections":0,"lastRefusal":null},{"id":"66a6acde-819b-4d21-abea-be226f99a4b7","userID":"2","apiKeyID":"","organizationID":"1","issuedAt":"2026-01-15T12:00:00.000Z","expiresAt":"2026-01-16T12:00:00.000Z","lastUsedAt":null,"scope":null,"connections":0,"lastRefusal":null}]}}}',
  listCommands:
    '{"parameters":{"devEui":"a000000000000046"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","deviceQueueItems":[]}}}',
  listConnections:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listDeploymentApiKeys: '{"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listDeviceEventBuckets:
    '{"parameters":{"devEui":"0101010101010101"},"answer":{"mediaType":"application/json","value":{"devEUI":"0101010101010101","from":"2026-01-15T12:00:00.000Z","to":"2026-01-15T12:02:00.001Z","bucketSeconds":1,"completeFrom":"2026-01-15T12:00:00.000Z","truncated":[],"values":[],"result":[{"time":"2026-01-15T12:00:00.000Z","uplinks":0,"lost":0,"joins":0,"spreadingFactors":{},"dataRates":{},"values":{},"battery":{"min":78.74,"median":78.74,"max":78.74,"count":1},"margin":{"min":10,"median":10,"max":10,"count":1}}]}}}',
  listDeviceEvents:
    '{"parameters":{"devEui":"0101010101010101"},"answer":{"mediaType":"application/x-ndjson","value":{"id":"37-5021","time":"2026-01-15T12:00:00.000Z","applicationID":"1","devEUI":"0101010101010101","kind":"status","qos":1,"event":{"applicationID":"5","applicationName":"meters","deviceName":"Meter 1","devEUI":"0102030405060708","margin":10,"externalPowerSource":false,"batteryLevel":78.74,"batteryLevelUnavailable":false,"tags":{"valley":"north"}}}}}',
  listDeviceProfileVersions:
    '{"parameters":{"id":"44cbad4e-60f0-457d-aa9c-5b277853ec5a"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"version":1,"payloadCodec":"","characters":0,"userID":"","apiKeyID":"","createdAt":"2026-01-15T12:02:56.000Z"}]}}}',
  listDeviceProfiles:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listDevices:
    '{"parameters":{"applicationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"devEUI":"0101010101010101","name":"device 0101010101010101","applicationID":"1","description":"","deviceProfileID":"","deviceProfileName":"","isDisabled":false,"organizationID":"1","state":"NEVER_HEARD","stateSince":null,"lowBattery":false,"weakSignal":false,"losingFrames":false,"intervalSeconds":null,"lossPercent":null,"rssi":null,"snr":null,"deviceStatusBatteryLevel":null,"deviceStatusMargin":null,"lastSeenAt":null,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listInventories:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"networkServer":"main","kind":"chirpstack-grpc","ofDeployment":false,"step":{"intervalSeconds":3600,"removeMissing":false,"applications":{},"createApplications":true,"profiles":"IMPORT","tags":{},"lastRunAt":"2026-01-15T12:00:00.000Z","lastCode":"","lastMessage":"","lastReport":{"dryRun":false,"createdCount":1,"updatedCount":0,"unchangedCount":0,"refusedCount":0,"missingCount":0,"removedCount":0,"applications":[{"networkServerApplicationID":"7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11","name":"Water","applicationID":"1","outcome":"unchanged","reason":"","message":""}],"deviceProfiles":[{"networkServerProfileID":"3c4c7f6e-36c1-4a8a-8a4b-5f8d1f4f2f0a","name":"Water meter","deviceProfileID":"","members":[],"outcome":"created","reason":"","message":""}],"devices":[{"devEUI":"0101010101010101","joinEUI":"0202020202020202","name":"meter 1","applicationID":"1","members":[],"outcome":"created","reason":"","message":""}],"missingDevEUIs":[]}}}]}}}',
  listLastDeviceEvents:
    '{"parameters":{"devEui":"0101010101010101"},"answer":{"mediaType":"application/json","value":{"result":[{"id":"37-5021","time":"2026-01-15T12:00:00.000Z","applicationID":"1","devEUI":"0101010101010101","kind":"status","qos":1,"event":{"applicationID":"5","applicationName":"meters","deviceName":"Meter 1","devEUI":"0102030405060708","margin":10,"externalPowerSource":false,"batteryLevel":78.74,"batteryLevelUnavailable":false,"tags":{"valley":"north"}}}],"notFoundYet":[]}}}',
  listLibraryProfiles:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"67a868b7-50d9-4f10-a024-44917697e642","vendor":"Maker","model":"Meter 1","firmwareVersion":"1.0","description":"A water meter","regions":[{"region":"EU868","deviceClass":"A"},{"region":"US915","deviceClass":"C"}],"payloadCodec":"CUSTOM_JS","source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"},"fPortRules":[],"revision":1,"failedExamples":0,"vectorCount":1,"createdAt":"2026-01-15T12:03:02.000Z","updatedAt":"2026-01-15T12:03:06.000Z"}]}}}',
  listLibraryVendors:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"vendor":"Maker","profileCount":1}]}}}',
  listMembers:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"4","result":[{"userID":"3","username":"device-admin@example.org","email":"device-admin@example.org","isAdmin":false,"isDeviceAdmin":true,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"2","username":"member@example.org","email":"member@example.org","isAdmin":false,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"4","username":"organization-admin@example.org","email":"organization-admin@example.org","isAdmin":true,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"1","username":"reader@example.org","email":"reader@example.org","isAdmin":false,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":true,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listMetricsTokens:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"1ce2a269-d130-4307-8616-1a635eac2c56","name":"of /metrics","createdAt":"2026-01-15T12:00:22.000Z","lastUsedAt":"2026-01-15T12:00:22.000Z"}]}}}',
  listNetworkServers:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"name":"main","kind":"chirpstack-grpc","url":"http://chirpstack:8080","isOfFile":false,"createdAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listOrganizations:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"1","name":"acme","displayName":"Acme Metering","canHaveGateways":true,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listRefusals:
    '{"parameters":{"organizationID":"1","tokenID":"66a6acde-819b-4d21-abea-be226f99a4b7"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listRegistrationRules:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listServiceCredentials:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"2","result":[{"id":"7d5043fb-ce03-44d7-be2c-8df4cefaf424","name":"of /api/network-servers/chirpstack/events","userName":"network-server-7d5043fb-ce03-44d7-be2c-8df4cefaf424","organizationID":"1","createdAt":"2026-01-15T12:03:20.000Z"},{"id":"d8654642-0dea-46a7-a374-1d622fe40072","name":"of /api/network-servers/the-things-stack/events","userName":"network-server-d8654642-0dea-46a7-a374-1d622fe40072","organizationID":"1","createdAt":"2026-01-15T12:03:22.000Z"}]}}}',
  listUnknownDevices:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listUsers:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"10","result":[{"id":"3","username":"device-admin@example.org","email":"device-admin@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"7","username":"fresh-42@example.org","email":"fresh-42@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:22.000Z","updatedAt":"2026-01-15T12:01:22.000Z"},{"id":"8","username":"fresh-43@example.org","email":"fresh-43@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:24.000Z","updatedAt":"2026-01-15T12:01:24.000Z"},{"id":"9","username":"fresh-44@example.org","email":"fresh-44@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:26.000Z","updatedAt":"2026-01-15T12:01:26.000Z"},{"id":"10","username":"fresh-45@example.org","email":"fresh-45@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:28.000Z","updatedAt":"2026-01-15T12:01:28.000Z"},{"id":"6","username":"global-admin@example.org","email":"global-admin@example.org","isAdmin":true,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"2","username":"member@example.org","email":"member@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"4","username":"organization-admin@example.org","email":"organization-admin@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:36.000Z"}]}}}',
  listWebhookDeliveries:
    '{"parameters":{"id":"1","webhookId":"3bcf2b49-2841-4880-a5d1-201d2d5dee71"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"time":"2026-01-15T12:02:44.000Z","outcome":"delivered","webhookId":"1-1","events":1,"devEui":"0101010101010101","kind":"up","tries":1,"status":204,"durationMs":7,"code":"","reason":"","answer":"","command":null}]}}}',
  listWebhooks:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  login:
    '{"request":{"mediaType":"application/json","value":{"username":"member@example.org","password":"correct horse battery staple"}},"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","is2faRequired":false}}}',
  loginSecondStep:
    '{"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","is2faRequired":false}}}',
  makeBackup: '{"answer":{"mediaType":"application/octet-stream","value":"the backup"}}',
  pauseWebhook:
    '{"parameters":{"id":"1","webhookId":"035dd594-7849-4cd1-af4e-8b9e74c1a04a"},"answer":{"mediaType":"application/json","value":{}}}',
  postChirpStackEvent:
    '{"parameters":{"event":"up"},"request":{"mediaType":"application/json","value":{"devEUI":"0101010101010101"}},"answer":{"mediaType":"application/json","value":{}}}',
  postTheThingsStackEvent:
    '{"request":{"mediaType":"application/json","value":{"end_device_ids":{"device_id":"meter","dev_eui":"0101010101010101"},"uplink_message":{}}},"answer":{"mediaType":"application/json","value":{}}}',
  registerUnknownDevices:
    '{"request":{"mediaType":"application/json","value":{"applicationID":"1","filter":{"devEUIPrefix":"ff"}}},"answer":{"mediaType":"application/json","value":{"registered":0,"refused":0,"refusals":[],"more":false}}}',
  removeMember: '{"parameters":{"id":"1","userId":"10"},"answer":{"mediaType":"application/json","value":{}}}',
  renewRecoveryCodes:
    '{"request":{"mediaType":"application/json","value":{"regenerate":true}},"answer":{"mediaType":"application/json","value":{"recoveryCode":["01234-abcde","56789-fghij"]}}}',
  resetSecondFactor: '{"parameters":{"id":"16"},"answer":{"mediaType":"application/json","value":{}}}',
  restoreDeviceProfileVersion:
    '{"parameters":{"id":"1f483e13-6b81-4f73-939e-fea99b9307ee"},"request":{"mediaType":"application/json","value":{"version":1}},"answer":{"mediaType":"application/json","value":{}}}',
  resumeConsoleSession:
    '{"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"}}}',
  resumeWebhook:
    '{"parameters":{"id":"1","webhookId":"c6984181-ce87-4065-8e13-845eb8cfe3a6"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  revokeApiKey: '{"parameters":{"id":"1","keyId":"F7ZioErQrdWR"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeBrokerToken:
    '{"parameters":{"id":"4459cc79-6553-4e0c-aadc-f716bd2f2337"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeDeploymentApiKey:
    '{"parameters":{"keyId":"LA9okwopIZIt"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeMetricsToken:
    '{"parameters":{"id":"1a7b1dd4-d404-4794-b041-7fe3a79177b5"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeServiceCredential:
    '{"parameters":{"id":"20126e60-db24-474e-ab05-caa7f8d17805"},"answer":{"mediaType":"application/json","value":{}}}',
  rotateApiKey:
    '{"parameters":{"id":"1","keyId":"S8sCBol1S4hH"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"S8sCBol1S4hH","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  rotateDeploymentApiKey:
    '{"parameters":{"keyId":"Sydip2TBmMu7"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"Sydip2TBmMu7","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  rotateSigningKey:
    '{"answer":{"mediaType":"application/json","value":{"kid":"AJ6sv83sGE7-URr73cOpXZQLHHxNxnbQR7iWmKz0lwQ"}}}',
  rotateWebhookSecret:
    '{"parameters":{"id":"1","webhookId":"7953e974-fb90-4b94-b287-44f6c4d138df"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"7953e974-fb90-4b94-b287-44f6c4d138df","secret":"JBSWY3DPEHPK3PXP"}}}',
  sendCommand:
    '{"parameters":{"devEui":"a000000000000047"},"request":{"mediaType":"application/json","value":{"deviceQueueItem":{"confirmed":true,"fPort":10,"data":"AQID","id":"valve-7"}}},"answer":{"mediaType":"application/json","value":{"id":"valve-7","state":"queued","repeated":false}}}',
  setInventoryStep:
    '{"parameters":{"networkServer":"main"},"request":{"mediaType":"application/json","value":{"organizationID":"1","inventoryStep":{"createApplications":true,"intervalSeconds":3600}}},"answer":{"mediaType":"application/json","value":{}}}',
  setPassword:
    '{"parameters":{"id":"15"},"request":{"mediaType":"application/json","value":{"password":"correct horse battery staple 2"}},"answer":{"mediaType":"application/json","value":{}}}',
  signOutEverywhere: '{"answer":{"mediaType":"application/json","value":{}}}',
  takeDeviceProfileLibraryUpdate:
    '{"parameters":{"id":"9860223a-8cac-4b85-8017-7ee6de77c6e2"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  testCodec:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"payloadCodec":"CUSTOM_JS","payloadDecoderScript":"function Decode(fPort, bytes) { return bytes }","payloadEncoderScript":"function Encode(fPort, object) { return [object.a] }","fPort":2,"hex":"0102","object":{"a":7},"variables":{"offset":"1"}}},"answer":{"mediaType":"application/json","value":{"decoded":{"object":[1,2],"warnings":[],"console":[],"error":null,"durationMs":6.223610999999977},"encoded":{"data":"Bw==","hex":"07","fPort":null,"warnings":[],"console":[],"error":null,"durationMs":2.447956000000005}}}}',
  testDeviceProfile:
    '{"parameters":{"id":"bdd98bc9-7ec4-436a-bab4-190454e0fc36"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"outcomes":[]}}}',
  testWebhook:
    '{"parameters":{"id":"1","webhookId":"6186e20f-ff78-446e-9596-1b6a7299aa80"},"answer":{"mediaType":"application/json","value":{"time":"2026-01-15T12:02:38.000Z","outcome":"delivered","webhookId":"1-1","events":1,"devEui":"0101010101010101","kind":"up","tries":1,"status":204,"durationMs":7,"code":"","reason":"","answer":"","command":null}}}',
  tryNetworkServer:
    '{"request":{"mediaType":"application/json","value":{"networkServer":{"name":"main","url":"http://chirpstack:8080","apiKey":"a-key"}}},"answer":{"mediaType":"application/json","value":{"outcome":"works","answer":"It works.","tenants":[{"id":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","name":"Valley","applications":2}]}}}',
  updateApiKey:
    '{"parameters":{"id":"1","keyId":"PEhi91G8Qgi7"},"request":{"mediaType":"application/json","value":{"apiKey":{"rights":["devices.read"]}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateApplication:
    '{"parameters":{"id":"5"},"request":{"mediaType":"application/json","value":{"application":{"description":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDeploymentApiKey:
    '{"parameters":{"keyId":"nl5tSfiEyhr9"},"request":{"mediaType":"application/json","value":{"apiKey":{"rights":["devices.read"]}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDevice:
    '{"parameters":{"devEui":"a000000000000044"},"request":{"mediaType":"application/json","value":{"device":{"description":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDeviceProfile:
    '{"parameters":{"id":"369e5aad-b3d4-464a-82c7-39b59b84246e"},"request":{"mediaType":"application/json","value":{"deviceProfile":{"name":"renamed-87"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateMember:
    '{"parameters":{"id":"1","userId":"9"},"request":{"mediaType":"application/json","value":{"organizationUser":{"isDeviceAdmin":true}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateOrganization:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"organization":{"displayName":"Acme 37"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateOrganizationBounds:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"bounds":{"sessions":20000,"retainedBytes":null}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateUser:
    '{"parameters":{"id":"13"},"request":{"mediaType":"application/json","value":{"user":{"note":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateWebhook:
    '{"parameters":{"id":"1","webhookId":"1b4071dd-0a41-4dde-9562-5a09889d6ff1"},"request":{"mediaType":"application/json","value":{"webhook":{"name":"Billing","url":"https://billing.example.org/events","concurrency":1}}},"answer":{"mediaType":"application/json","value":{}}}',
}
