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
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"apiKey":{"name":"new 129","rights":["events.read"]}}},"answer":{"mediaType":"application/json","value":{"id":"euFQehT53t7l","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createApplication:
    '{"request":{"mediaType":"application/json","value":{"application":{"name":"new-54","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"3"}}}',
  createBrokerToken:
    '{"request":{"mediaType":"application/json","value":{"organizationId":"1","ttlInSeconds":"60"}},"answer":{"mediaType":"application/json","value":{"jwtMqttAuth":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"}}}',
  createDeploymentApiKey:
    '{"request":{"mediaType":"application/json","value":{"apiKey":{"name":"new 136","rights":["events.read"]}}},"answer":{"mediaType":"application/json","value":{"id":"6ezLRme59DTD","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createDevice:
    '{"request":{"mediaType":"application/json","value":{"device":{"devEUI":"a000000000000040","name":"new 64","applicationID":"1"}}},"answer":{"mediaType":"application/json","value":{"devEUI":"a000000000000040"}}}',
  createDeviceProfile:
    '{"request":{"mediaType":"application/json","value":{"deviceProfile":{"name":"made-85","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"a049eb91-c9b7-4c09-a9e3-4323ab115b0d"}}}',
  createMetricsToken:
    '{"request":{"mediaType":"application/json","value":{"metricsToken":{"name":"scraper 111"}}},"answer":{"mediaType":"application/json","value":{"id":"7f932032-4f5c-445a-bca7-73569eec21e8","token":"fgm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA_AAAAAAAAA"}}}',
  createNetworkServer:
    '{"request":{"mediaType":"application/json","value":{"networkServer":{"name":"main","url":"http://chirpstack:8080","apiKey":"a-key"}}},"answer":{"mediaType":"application/json","value":{"name":"main","trial":{"outcome":"works","answer":"It works.","tenants":[{"id":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","name":"Valley","applications":2}]}}}}',
  createOrganization:
    '{"request":{"mediaType":"application/json","value":{"organization":{"name":"new-35"}}},"answer":{"mediaType":"application/json","value":{"id":"3"}}}',
  createRegistrationRule:
    '{"request":{"mediaType":"application/json","value":{"registrationRule":{"applicationID":"1","devEUIPrefix":"ff"}}},"answer":{"mediaType":"application/json","value":{"id":"6714b8e9-fadb-43ee-b9e8-295f42d4efb8"}}}',
  createServiceCredential:
    '{"request":{"mediaType":"application/json","value":{"serviceCredential":{"name":"new-108","organizationID":"1"}}},"answer":{"mediaType":"application/json","value":{"id":"fb2ff0a6-1ae9-4679-a2c7-e897dbf6f75b","userName":"network-server-fb2ff0a6-1ae9-4679-a2c7-e897dbf6f75b","password":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  createUser:
    '{"request":{"mediaType":"application/json","value":{"user":{"email":"new-47@example.org"},"password":"correct horse battery staple"}},"answer":{"mediaType":"application/json","value":{"id":"11"}}}',
  createWebhook:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"webhook":{"name":"Billing","url":"https://billing.example.org/events","concurrency":1}}},"answer":{"mediaType":"application/json","value":{"id":"d5fcf1e0-7f85-4315-bf68-46f6f5c42bcf","secret":"JBSWY3DPEHPK3PXP"}}}',
  deleteApplication: '{"parameters":{"id":"6"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteDevice: '{"parameters":{"devEui":"a000000000000045"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteDeviceProfile:
    '{"parameters":{"id":"711ad88d-12ab-454e-a192-0f3d5aff73a6"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteLibrarySource:
    '{"parameters":{"name":"Collection"},"answer":{"mediaType":"application/json","value":{"profileCount":1}}}',
  deleteNetworkServer: '{"parameters":{"name":"main"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteOrganization: '{"parameters":{"id":"4"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteRegistrationRule:
    '{"parameters":{"id":"1fc0a56a-98da-4dc5-9d9d-871bed505068","organizationID":"1"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteUser: '{"parameters":{"id":"14"},"answer":{"mediaType":"application/json","value":{}}}',
  deleteWebhook:
    '{"parameters":{"id":"1","webhookId":"d7655c59-6a1f-4019-9b7f-6e72f502ab06"},"answer":{"mediaType":"application/json","value":{}}}',
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
    '{"parameters":{"devEui":"b000000000000079","organizationID":"1"},"answer":{"mediaType":"application/json","value":{}}}',
  getApiKey:
    '{"parameters":{"id":"1","keyId":"uv7UdR2j10hr"},"answer":{"mediaType":"application/json","value":{"id":"uv7UdR2j10hr","organizationID":"1","name":"fresh 130","rights":["events.read"],"scope":null,"expiresAt":null,"state":"in_force","makerUserID":"4","makerName":"organization-admin@example.org","createdAt":"2026-01-15T12:04:18.000Z","rotatedAt":null,"oldSecretUntil":null,"lastUsedAt":null,"lastUsedAddress":""}}}',
  getApplication:
    '{"parameters":{"id":"4"},"answer":{"mediaType":"application/json","value":{"application":{"id":"4","name":"fresh-55","description":"fresh-55 of the test","organizationID":"1","serviceProfileID":"profile-1","serviceProfileName":"Profile 1","eventShape":"","objectCommands":"","retainsLastEvents":false,"payloadCodec":"","payloadEncoderScript":"","payloadDecoderScript":""},"createdAt":"2026-01-15T12:01:48.000Z","updatedAt":"2026-01-15T12:01:48.000Z"}}}',
  getApplicationEventTopic:
    '{"parameters":{"applicationId":"1","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":"Topic for subscribing to application 1: \'application/1/device/+/event/+\'"}}}',
  getAsyncApiDocument:
    '{"answer":{"mediaType":"application/json","value":{"asyncapi":"3.0.0","defaultContentType":"application/json"}}}',
  getBrokerTokenStatus:
    '{"parameters":{"id":"dfc58b94-3f19-4d1b-836b-36b729e9999e"},"answer":{"mediaType":"application/json","value":{"connections":[],"connectionCount":0,"lastRefusal":null}}}',
  getCertificateAuthority:
    '{"answer":{"mediaType":"application/x-pem-file","value":"-----BEGIN CERTIFICATE-----\\n-----END CERTIFICATE-----\\n"}}',
  getCommandTopic:
    '{"parameters":{"devEui":"0101010101010101","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":"Topic for publishing to device 0101010101010101: \'application/1/device/0101010101010101/command/down\'"}}}',
  getDeployment:
    '{"answer":{"mediaType":"application/json","value":{"mqttsHost":"localhost","mqttsPort":8883,"brokerTokenDefaultTtlSeconds":86400,"brokerTokenMaximumTtlSeconds":31557600,"hasOwnAuthority":true}}}',
  getDeploymentApiKey:
    '{"parameters":{"keyId":"0ONlJnU5jYmB"},"answer":{"mediaType":"application/json","value":{"id":"0ONlJnU5jYmB","organizationID":"","name":"fresh 137","rights":["events.read"],"scope":null,"expiresAt":null,"state":"in_force","makerUserID":"6","makerName":"global-admin@example.org","createdAt":"2026-01-15T12:04:32.000Z","rotatedAt":null,"oldSecretUntil":null,"lastUsedAt":null,"lastUsedAddress":""}}}',
  getDevice:
    '{"parameters":{"devEui":"a000000000000043"},"answer":{"mediaType":"application/json","value":{"device":{"devEUI":"a000000000000043","name":"device a000000000000043","applicationID":"1","description":"","deviceProfileID":"","deviceProfileName":"","isDisabled":false,"tags":{},"variables":{}},"organizationID":"1","state":"NEVER_HEARD","stateSince":null,"lowBattery":false,"weakSignal":false,"losingFrames":false,"intervalSeconds":null,"lossPercent":null,"rssi":null,"snr":null,"deviceStatusBatteryLevel":null,"deviceStatusMargin":null,"lastSeenAt":null,"createdAt":"2026-01-15T12:02:12.000Z","updatedAt":"2026-01-15T12:02:12.000Z"}}}',
  getDeviceEventTopics:
    '{"parameters":{"devEui":"0101010101010101","organizationId":"1"},"answer":{"mediaType":"application/json","value":{"topic":["Topic for subscribing to device 0101010101010101 on event up: \'application/1/device/0101010101010101/event/up\'","Topic for subscribing to device 0101010101010101 on event join: \'application/1/device/0101010101010101/event/join\'","Topic for subscribing to device 0101010101010101 on event ack: \'application/1/device/0101010101010101/event/ack\'","Topic for subscribing to device 0101010101010101 on event error: \'application/1/device/0101010101010101/event/error\'","Topic for subscribing to device 0101010101010101 on event status: \'application/1/device/0101010101010101/event/status\'","Topic for subscribing to device 0101010101010101 on event location: \'application/1/device/0101010101010101/event/location\'","Topic for subscribing to device 0101010101010101 on event txack: \'application/1/device/0101010101010101/event/txack\'","Topic for subscribing to device 0101010101010101 on all events: \'application/1/device/0101010101010101/event/+\'"]}}}',
  getDeviceLibrary:
    '{"answer":{"mediaType":"application/json","value":{"profileCount":1,"regions":["EU868","US915"],"sources":[{"name":"Collection","licence":"MIT","version":"abc","profileCount":1,"updatedAt":"2026-01-15T12:03:02.000Z"}]}}}',
  getDeviceProfile:
    '{"parameters":{"id":"0a5d7527-6bc3-4f6a-aacc-21ae49a135f5"},"answer":{"mediaType":"application/json","value":{"deviceProfile":{"id":"0a5d7527-6bc3-4f6a-aacc-21ae49a135f5","libraryProfileID":"","libraryRevision":0,"hasLibraryUpdate":false,"organizationID":"1","name":"fresh-86","description":"","vendor":"","model":"","firmwareVersion":"","region":"","deviceClass":"","payloadCodec":"","expectedIntervalSeconds":0,"batteryLimitPercent":null,"marginLimitDb":null,"fPortRules":[],"source":null,"tags":{},"variables":{},"codecVersion":1,"createdAt":"2026-01-15T12:02:50.000Z","updatedAt":"2026-01-15T12:02:50.000Z","payloadDecoderScript":"","payloadEncoderScript":"","testVectors":[]},"deviceCount":0}}}',
  getDeviceProfileLibraryUpdate:
    '{"parameters":{"id":"e8f8382e-0b03-4f3f-8759-588c63c56da8"},"answer":{"mediaType":"application/json","value":{"isThere":true,"revision":1,"members":["description","region","deviceClass","payloadCodec","payloadDecoderScript","payloadEncoderScript","testVectors","source"],"breaks":[],"source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"}}}}',
  getEventSchema:
    '{"parameters":{"family":"a","file":"up.json"},"answer":{"mediaType":"application/json","value":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://localhost:8443/api/schemas/v1/events/a/up.json","title":"UpEventA","description":"A device has sent data.","type":"object"}}}',
  getLibraryProfile:
    '{"parameters":{"id":"baca1717-6b76-4f45-a72f-c5639658b054"},"answer":{"mediaType":"application/json","value":{"libraryProfile":{"id":"baca1717-6b76-4f45-a72f-c5639658b054","vendor":"Maker","model":"Meter 1","firmwareVersion":"1.0","description":"A water meter","regions":[{"region":"EU868","deviceClass":"A"},{"region":"US915","deviceClass":"C"}],"payloadCodec":"CUSTOM_JS","source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"},"fPortRules":[],"revision":1,"failedExamples":0,"vectorCount":1,"createdAt":"2026-01-15T12:03:02.000Z","updatedAt":"2026-01-15T12:03:08.000Z","payloadDecoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","payloadEncoderScript":"function decodeUplink(input) { return { data: { a: input.bytes[0] } } }","testVectors":[{"name":"five","fPort":1,"bytes":"05","expected":{"data":{"a":5}}}]}}}}',
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
    '{"answer":{"mediaType":"application/json","value":{"keys":[{"kty":"EC","crv":"P-256","x":"G8Z9kfCaJ9_KKE95aKNZyP1zmk5uk5Vrx0-sGXR5hTc","y":"Phxb-bQYvitXsmi6ZsfU8ru2Ey5E7Ce_iEni5DgO9sg","kid":"GuO7tg28pPHs_38LIFYP3anfeTpODma7juH0Hy3C6ck","alg":"ES256","use":"sig"}]}}}',
  getReadiness: '{"answer":{"mediaType":"application/json","value":{"live":true,"ready":true}}}',
  getSchemaIndex:
    '{"answer":{"mediaType":"application/json","value":{"version":"v1","schemas":[{"title":"UpEventA","description":"A device has sent data.","direction":"received","schema":"https://localhost:8443/api/schemas/v1/events/a/up.json","sample":"https://localhost:8443/api/schemas/v1/events/a/up.sample.json"}]}}}',
  getStatus:
    '{"answer":{"mediaType":"application/json","value":{"isWell":false,"version":"1.2.3","runtime":"Bun 1.4.5","startedAt":"2026-01-15T12:00:00.000Z","uptimeSeconds":252,"numbers":null}}}',
  getTotpStatus: '{"answer":{"mediaType":"application/json","value":{"enabled":false}}}',
  getUser:
    '{"parameters":{"id":"12"},"answer":{"mediaType":"application/json","value":{"user":{"id":"12","username":"fresh-48@example.org","email":"fresh-48@example.org","isAdmin":false,"isActive":true,"note":""},"is2faEnabled":false,"createdAt":"2026-01-15T12:01:34.000Z","updatedAt":"2026-01-15T12:01:34.000Z"}}}',
  getWebhook:
    '{"parameters":{"id":"1","webhookId":"facbf4d9-53d7-49ed-8e16-01de66b0397e"},"answer":{"mediaType":"application/json","value":{"webhook":{"id":"facbf4d9-53d7-49ed-8e16-01de66b0397e","name":"Billing","url":"https://billing.example.org/events","headerNames":[],"concurrency":1,"timeoutSeconds":10,"giveUpSeconds":60,"onRefused":"pause","acceptsCommands":false,"pausedAt":null,"pauseCode":"","pauseReason":"","secretsInForce":1,"createdAt":"2026-01-15T12:02:30.000Z","updatedAt":"2026-01-15T12:02:30.000Z"},"standing":{"state":"running","waitingEvents":0,"isAtTail":true,"requestsUnderWay":0,"deliveredAt":"2026-01-15T12:02:30.000Z","failingSince":null,"nextTryAt":null,"missedAtMost":0,"eventsDelivered":1,"eventsSkipped":0}}}}',
  getWellKnownPublicKeys:
    '{"answer":{"mediaType":"application/json","value":{"keys":[{"kty":"EC","crv":"P-256","x":"G8Z9kfCaJ9_KKE95aKNZyP1zmk5uk5Vrx0-sGXR5hTc","y":"Phxb-bQYvitXsmi6ZsfU8ru2Ey5E7Ce_iEni5DgO9sg","kid":"GuO7tg28pPHs_38LIFYP3anfeTpODma7juH0Hy3C6ck","alg":"ES256","use":"sig"}]}}}',
  handOverApiKey:
    '{"parameters":{"id":"1","keyId":"Gj1xwoCBotMJ"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  handOverDeploymentApiKey:
    '{"parameters":{"keyId":"JtJxB1iQlApG"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  importDevices:
    '{"parameters":{"applicationID":"1"},"request":{"mediaType":"text/csv","value":"devEUI,name\\na000000000000042,imported 66\\n"},"answer":{"mediaType":"application/json","value":{"dryRun":false,"isComplete":true,"stopped":"","totalCount":"1","createdCount":"1","updatedCount":"0","unchangedCount":"0","refusedCount":"0","unknownColumns":[],"errors":[]}}}',
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
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"91","result":[{"id":"131","at":"2026-01-15T12:03:54.000Z","actor":"user","actorUserID":"6","actorName":"global-admin@example.org","actorApiKeyID":"","action":"registration_rule.removed","subject":"1fc0a56a-98da-4dc5-9d9d-871bed505068","organizationID":"1","detail":{}}]}}}',
  listBrokerTokens:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"2","result":[{"id":"53d8e23b-9377-4c58-a223-5173b0bc33ac","userID":"4","apiKeyID":"","organizationID":"1","issuedAt":"2026-01-15T12:00:50.000Z","expiresAt":"2026-01-15T12:01:50.000Z","lastUsedAt":null,"scope":null,"connections":0,"lastRefusal":null},{"id":"9e64c9d1-b940-4469-8aad-172a46715f9d","userID":"2","apiKeyID":"","organizationID":"1","issuedAt":"2026-01-15T12:00:00.000Z","expiresAt":"2026-01-16T12:00:00.000Z","lastUsedAt":null,"scope":null,"connections":0,"lastRefusal":null}]}}}',
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
    '{"parameters":{"id":"8b76ab54-d657-4a26-87e8-abf87cdf860f"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"version":1,"payloadCodec":"","characters":0,"userID":"","apiKeyID":"","createdAt":"2026-01-15T12:02:56.000Z"}]}}}',
  listDeviceProfiles:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listDevices:
    '{"parameters":{"applicationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"devEUI":"0101010101010101","name":"device 0101010101010101","applicationID":"1","description":"","deviceProfileID":"","deviceProfileName":"","isDisabled":false,"organizationID":"1","state":"NEVER_HEARD","stateSince":null,"lowBattery":false,"weakSignal":false,"losingFrames":false,"intervalSeconds":null,"lossPercent":null,"rssi":null,"snr":null,"deviceStatusBatteryLevel":null,"deviceStatusMargin":null,"lastSeenAt":null,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listLastDeviceEvents:
    '{"parameters":{"devEui":"0101010101010101"},"answer":{"mediaType":"application/json","value":{"result":[{"id":"37-5021","time":"2026-01-15T12:00:00.000Z","applicationID":"1","devEUI":"0101010101010101","kind":"status","qos":1,"event":{"applicationID":"5","applicationName":"meters","deviceName":"Meter 1","devEUI":"0102030405060708","margin":10,"externalPowerSource":false,"batteryLevel":78.74,"batteryLevelUnavailable":false,"tags":{"valley":"north"}}}],"notFoundYet":[]}}}',
  listLibraryProfiles:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"baca1717-6b76-4f45-a72f-c5639658b054","vendor":"Maker","model":"Meter 1","firmwareVersion":"1.0","description":"A water meter","regions":[{"region":"EU868","deviceClass":"A"},{"region":"US915","deviceClass":"C"}],"payloadCodec":"CUSTOM_JS","source":{"name":"Collection","licence":"MIT","url":"https://maker.example/meter","version":"abc"},"fPortRules":[],"revision":1,"failedExamples":0,"vectorCount":1,"createdAt":"2026-01-15T12:03:02.000Z","updatedAt":"2026-01-15T12:03:06.000Z"}]}}}',
  listLibraryVendors:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"vendor":"Maker","profileCount":1}]}}}',
  listMembers:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"4","result":[{"userID":"3","username":"device-admin@example.org","email":"device-admin@example.org","isAdmin":false,"isDeviceAdmin":true,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"2","username":"member@example.org","email":"member@example.org","isAdmin":false,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"4","username":"organization-admin@example.org","email":"organization-admin@example.org","isAdmin":true,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":false,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"userID":"1","username":"reader@example.org","email":"reader@example.org","isAdmin":false,"isDeviceAdmin":false,"isGatewayAdmin":false,"isReadOnly":true,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listMetricsTokens:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"ed1c8ba7-7dad-455f-a510-d99aa3c0c2cc","name":"of /metrics","createdAt":"2026-01-15T12:00:22.000Z","lastUsedAt":"2026-01-15T12:00:22.000Z"}]}}}',
  listNetworkServers:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"name":"main","kind":"chirpstack-grpc","url":"http://chirpstack:8080","isOfFile":false,"createdAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listOrganizations:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"id":"1","name":"acme","displayName":"Acme Metering","canHaveGateways":true,"createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"}]}}}',
  listRefusals:
    '{"parameters":{"organizationID":"1","tokenID":"9e64c9d1-b940-4469-8aad-172a46715f9d"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listRegistrationRules:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listServiceCredentials:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"2","result":[{"id":"36beb8ae-3d17-49d6-81d4-7cc7c2e15854","name":"of /api/network-servers/chirpstack/events","userName":"network-server-36beb8ae-3d17-49d6-81d4-7cc7c2e15854","organizationID":"1","createdAt":"2026-01-15T12:03:20.000Z"},{"id":"5e5f6d19-060e-4dc0-bbc3-134fbc62c582","name":"of /api/network-servers/the-things-stack/events","userName":"network-server-5e5f6d19-060e-4dc0-bbc3-134fbc62c582","organizationID":"1","createdAt":"2026-01-15T12:03:22.000Z"}]}}}',
  listUnknownDevices:
    '{"parameters":{"organizationID":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  listUsers:
    '{"answer":{"mediaType":"application/json","value":{"totalCount":"10","result":[{"id":"3","username":"device-admin@example.org","email":"device-admin@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"7","username":"fresh-42@example.org","email":"fresh-42@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:22.000Z","updatedAt":"2026-01-15T12:01:22.000Z"},{"id":"8","username":"fresh-43@example.org","email":"fresh-43@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:24.000Z","updatedAt":"2026-01-15T12:01:24.000Z"},{"id":"9","username":"fresh-44@example.org","email":"fresh-44@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:26.000Z","updatedAt":"2026-01-15T12:01:26.000Z"},{"id":"10","username":"fresh-45@example.org","email":"fresh-45@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:01:28.000Z","updatedAt":"2026-01-15T12:01:28.000Z"},{"id":"6","username":"global-admin@example.org","email":"global-admin@example.org","isAdmin":true,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"2","username":"member@example.org","email":"member@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:00.000Z"},{"id":"4","username":"organization-admin@example.org","email":"organization-admin@example.org","isAdmin":false,"isActive":true,"note":"","createdAt":"2026-01-15T12:00:00.000Z","updatedAt":"2026-01-15T12:00:36.000Z"}]}}}',
  listWebhookDeliveries:
    '{"parameters":{"id":"1","webhookId":"53c733b6-ce03-4619-8889-a127f83414df"},"answer":{"mediaType":"application/json","value":{"totalCount":"1","result":[{"time":"2026-01-15T12:02:44.000Z","outcome":"delivered","webhookId":"1-1","events":1,"devEui":"0101010101010101","kind":"up","tries":1,"status":204,"durationMs":7,"code":"","reason":"","answer":"","command":null}]}}}',
  listWebhooks:
    '{"parameters":{"id":"1"},"answer":{"mediaType":"application/json","value":{"totalCount":"0","result":[]}}}',
  login:
    '{"request":{"mediaType":"application/json","value":{"username":"member@example.org","password":"correct horse battery staple"}},"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","is2faRequired":false}}}',
  loginSecondStep:
    '{"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","is2faRequired":false}}}',
  makeBackup: '{"answer":{"mediaType":"application/octet-stream","value":"the backup"}}',
  pauseWebhook:
    '{"parameters":{"id":"1","webhookId":"14f32cf6-e72a-4e7d-a2de-13ae424f91d8"},"answer":{"mediaType":"application/json","value":{}}}',
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
    '{"parameters":{"id":"bb3305c0-bbee-4a65-b745-a8166014be1b"},"request":{"mediaType":"application/json","value":{"version":1}},"answer":{"mediaType":"application/json","value":{}}}',
  resumeConsoleSession:
    '{"answer":{"mediaType":"application/json","value":{"jwt":"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"}}}',
  resumeWebhook:
    '{"parameters":{"id":"1","webhookId":"39097074-190c-4cbd-9e7e-b5e62badd370"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  revokeApiKey: '{"parameters":{"id":"1","keyId":"iRxjYDMRVlQq"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeBrokerToken:
    '{"parameters":{"id":"791ff30c-3ef4-4b71-97a8-64c09a698b11"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeDeploymentApiKey:
    '{"parameters":{"keyId":"Jwuw7d7hxOG8"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeMetricsToken:
    '{"parameters":{"id":"51648fb3-d792-474f-bb85-e8c94ce560db"},"answer":{"mediaType":"application/json","value":{}}}',
  revokeServiceCredential:
    '{"parameters":{"id":"9381bb53-5a3f-4959-8b3c-4f646629311e"},"answer":{"mediaType":"application/json","value":{}}}',
  rotateApiKey:
    '{"parameters":{"id":"1","keyId":"BRcqbjnvsrX6"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"BRcqbjnvsrX6","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  rotateDeploymentApiKey:
    '{"parameters":{"keyId":"CMXOgAZcOiWP"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"CMXOgAZcOiWP","key":"fg_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}',
  rotateSigningKey:
    '{"answer":{"mediaType":"application/json","value":{"kid":"QW0mMWAIKbpMjviHwwUuEGuOgS9M9fMeLnDQTW-jDTE"}}}',
  rotateWebhookSecret:
    '{"parameters":{"id":"1","webhookId":"4d4e1e49-1918-4abc-b98b-ade34dd19b6a"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"id":"4d4e1e49-1918-4abc-b98b-ade34dd19b6a","secret":"JBSWY3DPEHPK3PXP"}}}',
  sendCommand:
    '{"parameters":{"devEui":"a000000000000047"},"request":{"mediaType":"application/json","value":{"deviceQueueItem":{"confirmed":true,"fPort":10,"data":"AQID","id":"valve-7"}}},"answer":{"mediaType":"application/json","value":{"id":"valve-7","state":"queued","repeated":false}}}',
  setPassword:
    '{"parameters":{"id":"15"},"request":{"mediaType":"application/json","value":{"password":"correct horse battery staple 2"}},"answer":{"mediaType":"application/json","value":{}}}',
  signOutEverywhere: '{"answer":{"mediaType":"application/json","value":{}}}',
  takeDeviceProfileLibraryUpdate:
    '{"parameters":{"id":"61bd6e5e-ee4f-48be-8be5-05763f909a25"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{}}}',
  testCodec:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"payloadCodec":"CUSTOM_JS","payloadDecoderScript":"function Decode(fPort, bytes) { return bytes }","payloadEncoderScript":"function Encode(fPort, object) { return [object.a] }","fPort":2,"hex":"0102","object":{"a":7},"variables":{"offset":"1"}}},"answer":{"mediaType":"application/json","value":{"decoded":{"object":[1,2],"warnings":[],"console":[],"error":null,"durationMs":2.4885770000000207},"encoded":{"data":"Bw==","hex":"07","fPort":null,"warnings":[],"console":[],"error":null,"durationMs":4.4294419999999946}}}}',
  testDeviceProfile:
    '{"parameters":{"id":"397bbaaf-a815-4b86-95a4-b0a04dc82364"},"request":{"mediaType":"application/json","value":{}},"answer":{"mediaType":"application/json","value":{"outcomes":[]}}}',
  testWebhook:
    '{"parameters":{"id":"1","webhookId":"a6bc6ada-181b-4d5b-8ddb-6fa988bb5bd5"},"answer":{"mediaType":"application/json","value":{"time":"2026-01-15T12:02:38.000Z","outcome":"delivered","webhookId":"1-1","events":1,"devEui":"0101010101010101","kind":"up","tries":1,"status":204,"durationMs":7,"code":"","reason":"","answer":"","command":null}}}',
  tryNetworkServer:
    '{"request":{"mediaType":"application/json","value":{"networkServer":{"name":"main","url":"http://chirpstack:8080","apiKey":"a-key"}}},"answer":{"mediaType":"application/json","value":{"outcome":"works","answer":"It works.","tenants":[{"id":"52f14cd4-c6f1-4fbd-8f87-4025e1d49242","name":"Valley","applications":2}]}}}',
  updateApiKey:
    '{"parameters":{"id":"1","keyId":"iNHM8Un63JMg"},"request":{"mediaType":"application/json","value":{"apiKey":{"rights":["devices.read"]}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateApplication:
    '{"parameters":{"id":"5"},"request":{"mediaType":"application/json","value":{"application":{"description":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDeploymentApiKey:
    '{"parameters":{"keyId":"40HGqDdvdehc"},"request":{"mediaType":"application/json","value":{"apiKey":{"rights":["devices.read"]}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDevice:
    '{"parameters":{"devEui":"a000000000000044"},"request":{"mediaType":"application/json","value":{"device":{"description":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateDeviceProfile:
    '{"parameters":{"id":"ed992d69-1e28-415e-bffc-4c20e245cda5"},"request":{"mediaType":"application/json","value":{"deviceProfile":{"name":"renamed-87"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateMember:
    '{"parameters":{"id":"1","userId":"9"},"request":{"mediaType":"application/json","value":{"organizationUser":{"isDeviceAdmin":true}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateOrganization:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"organization":{"displayName":"Acme 37"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateOrganizationBounds:
    '{"parameters":{"id":"1"},"request":{"mediaType":"application/json","value":{"bounds":{"sessions":20000,"retainedBytes":null}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateUser:
    '{"parameters":{"id":"13"},"request":{"mediaType":"application/json","value":{"user":{"note":"changed"}}},"answer":{"mediaType":"application/json","value":{}}}',
  updateWebhook:
    '{"parameters":{"id":"1","webhookId":"dc52008b-2af7-43e3-9e29-06adc39bde54"},"request":{"mediaType":"application/json","value":{"webhook":{"name":"Billing","url":"https://billing.example.org/events","concurrency":1}}},"answer":{"mediaType":"application/json","value":{}}}',
}
