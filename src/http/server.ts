/**
 * The HTTP server: the specification's endpoints and the administration around them, put together.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { fastify, LogController } from 'fastify'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Clock } from '../clock.ts'
import type { Registry } from '../identity/registry.ts'
import { accountRoutes } from './account/account.ts'
import { apiKeyRoutes } from './tenants/api-keys.ts'
import { applicationRoutes } from './tenants/applications.ts'
import { codecTrialRoutes } from './devices/codec-trial.ts'
import type { CodecTrials } from './devices/codec-trial.ts'
import { authenticateRequests } from './api/authenticate.ts'
import { backupRoutes } from './operation/backup.ts'
import type { Backups } from './operation/backup.ts'
import { drainRoutes } from './operation/drain.ts'
import type { Drain } from './operation/drain.ts'
import { answerFor, invalidArgument, RequestRefused, routeNotFound } from './api/errors.ts'
import type { HttpApp } from './api/http-app.ts'
import { addRoutes } from './api/routes.ts'
import type { Route } from './api/routes.ts'
import { exportRoutes } from './devices/export-devices.ts'
import { importRoutes, streamUploads } from './devices/import-devices.ts'
import { LibraryImports } from './devices/library-imports.ts'
import { libraryUpdateRoutes } from './devices/library-update.ts'
import { libraryUploadRoutes, streamArchives } from './devices/library-upload.ts'
import { loginRoutes } from './account/login.ts'
import { memberRoutes } from './tenants/members.ts'
import { collectMethods } from './serving/method-not-allowed.ts'
import { brokerTokenRoutes } from './broker-access/broker-tokens.ts'
import { emqxRoutes } from './broker-hooks/emqx.ts'
import type { BrokerHooks } from './broker-hooks/foreign-brokers.ts'
import { mosquittoRoutes } from './broker-hooks/mosquitto.ts'
import { takeForms } from './broker-hooks/questions.ts'
import { rabbitmqRoutes } from './broker-hooks/rabbitmq.ts'
import type { BrokerViews } from './operation/broker-views.ts'
import type { SessionViews } from './operation/session-views.ts'
import { openConsoleFiles } from './pages/console-files.ts'
import type { ConsoleFiles } from './pages/console-files.ts'
import { openDocumentation } from './pages/documentation.ts'
import type { Documentation } from './pages/documentation.ts'
import { connectionRoutes } from './operation/connections.ts'
import { consoleSessionRoutes } from './account/console-session.ts'
import { diagnosisRoutes } from './diagnosis/diagnosis-route.ts'
import { deploymentRoutes } from './broker-access/deployment.ts'
import type { DeploymentView } from './broker-access/deployment.ts'
import { deviceQueueRoutes } from './devices/device-queue.ts'
import type { DeviceCommands } from '../lorawan/commands/device-commands.ts'
import { deviceLibraryRoutes } from './devices/device-library.ts'
import { deviceProfileRoutes } from './devices/device-profiles.ts'
import { deviceRoutes } from './devices/devices.ts'
import { eventBucketRoutes } from './devices/event-buckets.ts'
import { historyRoutes } from './devices/event-history.ts'
import { ReadingDesk } from './devices/reading-desk.ts'
import type { StoredEvents } from './devices/reading-desk.ts'
import { brokerAccessRoutes } from './broker-access/mosquitto-auth.ts'
import type { BrokerTokenSettings } from './broker-access/mosquitto-auth.ts'
import { answerClientError, createNodeServer, replaceCertificate } from './serving/node-server.ts'
import type { TlsMaterial } from './serving/node-server.ts'
import { messageContractRoutes } from './api/message-contracts.ts'
import { openApiRoutes, registerOpenApi } from './api/openapi.ts'
import { createPayerOf } from './api/payers.ts'
import { schemaCompilers } from './api/schema-compilers.ts'
import { RequestGate } from './api/request-gate.ts'
import type { RequestShares } from './shares/request-shares.ts'
import type { Turns } from './shares/work-turns.ts'
import { operationRoutes } from './operation/operation.ts'
import type { BrokerView } from './operation/operation.ts'
import { organizationBoundRoutes } from './tenants/organization-bounds.ts'
import type { OrganizationBoundsView } from './tenants/organization-bounds.ts'
import { organizationRoutes } from './tenants/organizations.ts'
import { logRequests } from './serving/request-log.ts'
import { registrationRuleRoutes } from './devices/registration-rules.ts'
import { unknownDeviceRoutes } from './devices/unknown-devices.ts'
import type { WaitingDevices } from '../lorawan/unknown-devices/waiting-devices.ts'
import { refusalRoutes } from './operation/refusals.ts'
import { addSecurityHeaders } from './serving/security-headers.ts'
import type { SecurityHeaderSettings } from './serving/security-headers.ts'
import { secondFactorRoutes } from './account/second-factor.ts'
import { metricsTokenRoutes } from './operation/metrics-tokens.ts'
import { keepBodies, networkServerEventRoutes } from './devices/network-server-events.ts'
import type { NetworkServerEvents } from './devices/network-server-events.ts'
import { inventoryRoutes } from './tenants/inventories.ts'
import type { Inventories } from './tenants/inventories.ts'
import { networkServerRoutes } from './tenants/network-servers.ts'
import type { NetworkServerSetups } from './tenants/network-servers.ts'
import { serviceCredentialRoutes } from './tenants/service-credentials.ts'
import { statusRoutes } from './operation/status.ts'
import type { ServiceStatus } from './operation/status.ts'
import { userRoutes } from './tenants/users.ts'
import { webhookRoutes } from './tenants/webhooks.ts'
import type { WebhookViews } from './tenants/webhooks.ts'

/** The settings of a deployment. */
interface HttpSettings extends BrokerTokenSettings, SecurityHeaderSettings {
  /**
   * The address at which clients reach this server, for the OpenAPI document:
   * `https://fieldgate.example.org:8443`.
   */
  readonly baseUrl: string
  /** True for the address of a proxy whose `X-Forwarded-For` is believed; absent: for none. */
  readonly isTrustedProxy?: (address: string) => boolean
}

/** The parts of the HTTP server. */
export interface HttpServerOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'now' | 'steady'>
  /** Without it no organization and no address has a bound of requests. */
  readonly shares?: RequestShares
  /** The turns of heavy requests. */
  readonly turns: Turns
  /** A child logger of its own. */
  readonly log: Logger
  readonly settings: HttpSettings
  /** Without it the server speaks clear text: for tests, and behind a proxy that terminates TLS. */
  readonly https?: TlsMaterial
  readonly organizationBounds: OrganizationBoundsView
  readonly broker?: BrokerView
  /** Without it there are no routes of connections and refusals. */
  readonly brokerViews?: BrokerViews
  /** Without it there is no diagnosis. */
  readonly sessionViews?: SessionViews
  /** Without it there is no route of the status. */
  readonly status?: ServiceStatus
  /** Without it there are no routes of devices' queues. */
  readonly commands?: DeviceCommands
  /** Without it there is no route to try a codec. */
  readonly codecs?: CodecTrials | undefined
  /** Without it there are no routes of stored events. */
  readonly history?: StoredEvents
  /** Without it there is no route of backups. */
  readonly backups?: Backups
  /** Without it there are no routes that need running webhooks. */
  readonly webhooks?: WebhookViews
  /** Without it there are no routes of devices that are not registered. */
  readonly unknownDevices?: WaitingDevices
  /** Without it there is no route to drain. */
  readonly drain?: Drain
  /** Without it there are no routes of network servers. */
  readonly networkServers?: NetworkServerSetups
  /** Without it there are no routes of inventories. */
  readonly inventories?: Inventories
  /** Without it network servers can't post events. */
  readonly networkServerEvents?: NetworkServerEvents
  /** Without it brokers of other projects can’t ask. */
  readonly brokerHooks?: BrokerHooks
  /** Metrics of all rooms; served at /metrics. */
  readonly metrics?: MetricsRegistry
  /**
   * Without it connections are bounded by their number alone, and a silent one keeps the server
   * from closing.
   */
  readonly newcomers?: Newcomers
  readonly deployment: DeploymentView
  /** The folder of the built console; without it there is no console. */
  readonly consoleDirectory?: string
  /** The folder of the built documentation; without it a page says that there is none. */
  readonly documentationDirectory?: string
}

/** Connections that have not sent a request yet, and their bounds. */
interface Newcomers {
  /** True if this part does the TLS of the connections that it gives to the server. */
  readonly speaksTls: boolean
  /** Must be called once for each server, before the server listens. */
  watch(server: Server, tls: TlsMaterial | undefined): void
  /** Puts another certificate in place, where this part does the TLS. */
  setCertificate(tls: TlsMaterial): void
  /** The connection has sent a request. */
  settled(socket: Socket): void
  /** Whether a proxy opened the connection for a client of its own, and said so before TLS. */
  isForwarded(socket: Socket): boolean
  /** Cuts these connections, and every connection that comes afterwards. */
  close(): void
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Puts another certificate in place; connections that are open keep theirs. */
    setSecureContext(tls: TlsMaterial): void
  }
}

/**
 * The longest body in bytes; a longer body is answered with 413. The import of devices has a bound
 * of its own.
 */
const BODY_LIMIT_BYTES = 1024 * 1024

/** How long a handler may take before the caller hears 503. */
const HANDLER_TIMEOUT_MS = 60_000

/**
 * How long a closing server waits for requests that are under way. Process managers often kill a
 * service 10 s after SIGTERM.
 */
const CLOSE_TIMEOUT_MS = 4_000

/**
 * Makes the server with all routes. It listens after `await server.listen({ host, port })`.
 * `server.close()` stops taking requests (503 on open connections), waits up to 4 s for the
 * requests under way, and then cuts the connections.
 */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const app = createApp(options)
  readJsonStrictly(app)
  refuseWithoutHost(app)
  refuseWhileClosing(app)
  const documentation = openDocumentation(options.documentationDirectory)
  answerErrors(app, [documentation, filesOf(options)])
  logRequests(app, options.metrics)
  addSecurityHeaders(app, options.settings)
  const gate = new RequestGate(createPayerOf(options.registry), options.shares)
  authenticateRequests(app, options.registry, gate, options.brokerHooks?.secrets)
  const refuseOtherMethods = collectMethods(app)
  await registerOpenApi(app, options.settings.baseUrl)
  const imports = new LibraryImports(options.registry, { codecs: options.codecs, clock: options.clock }, options.turns)
  addRoutes(app, options.registry, gate, routesOf(options, imports))
  await addScopes(app, gate, options, imports)
  addRoutes(app, options.registry, gate, openApiRoutes(app, documentation))
  refuseOtherMethods()
  await app.ready()
  return app
}

function filesOf({ consoleDirectory }: HttpServerOptions): ConsoleFiles | undefined {
  return consoleDirectory === undefined ? undefined : openConsoleFiles(consoleDirectory)
}

/**
 * All routes except the routes with content types of their own and the routes of the OpenAPI
 * document.
 */
function routesOf(options: HttpServerOptions, imports: LibraryImports): readonly Route[] {
  const { registry, settings, broker, brokerViews, codecs, commands, history, metrics, clock } = options
  const { status, networkServers, backups, turns } = options
  const desk = history === undefined ? undefined : new ReadingDesk(registry, history, clock, turns)
  return [
    ...loginRoutes(registry),
    ...accountRoutes(registry),
    ...secondFactorRoutes(registry),
    ...brokerAccessRoutes(registry, settings),
    ...organizationRoutes(registry),
    ...organizationBoundRoutes(registry, options.organizationBounds),
    ...memberRoutes(registry),
    ...userRoutes(registry),
    ...applicationRoutes(registry, codecs),
    ...(codecs === undefined ? [] : codecTrialRoutes(codecs, clock)),
    ...exportRoutes(registry, turns),
    ...deviceRoutes(registry, turns),
    ...(options.unknownDevices === undefined ? [] : unknownDeviceRoutes(registry, options.unknownDevices)),
    ...deviceProfileRoutes(registry, codecs, clock),
    ...deviceLibraryRoutes(registry, imports),
    ...libraryUpdateRoutes(registry, codecs, clock),
    ...registrationRuleRoutes(registry),
    ...(commands === undefined ? [] : deviceQueueRoutes(commands)),
    ...(desk === undefined ? [] : [...historyRoutes(desk), ...eventBucketRoutes(desk, clock)]),
    ...brokerTokenRoutes(registry, brokerViews),
    ...(brokerViews === undefined ? [] : connectionRoutes(registry, brokerViews)),
    ...(brokerViews === undefined ? [] : refusalRoutes(registry, brokerViews)),
    ...diagnosisOf(options),
    ...(status === undefined ? [] : statusRoutes(registry, status, clock)),
    ...serviceCredentialRoutes(registry),
    ...(networkServers === undefined ? [] : networkServerRoutes(networkServers)),
    ...(options.inventories === undefined ? [] : inventoryRoutes(options.inventories)),
    ...consoleSessionRoutes(registry),
    ...deploymentRoutes(options.deployment, settings),
    ...messageContractRoutes(settings.baseUrl, () => options.deployment.mqtts()),
    ...metricsTokenRoutes(registry),
    ...apiKeyRoutes(registry),
    ...operationRoutes(registry, { broker, metrics }),
    ...(backups === undefined ? [] : backupRoutes(registry, backups)),
    ...webhookRoutes(registry, options.webhooks),
    ...(options.brokerHooks === undefined ? [] : mosquittoRoutes(options.brokerHooks.judge)),
    ...(options.brokerHooks === undefined ? [] : emqxRoutes(options.brokerHooks.judge)),
    ...(options.drain === undefined ? [] : drainRoutes(registry, options.drain)),
  ]
}

/** The diagnosis looks at the running broker and at stored events. */
function diagnosisOf({
  registry,
  brokerViews: views,
  sessionViews: sessions,
  history,
  clock,
  turns,
}: HttpServerOptions): readonly Route[] {
  if (views === undefined || sessions === undefined || history === undefined) return []
  return diagnosisRoutes({ registry, views, sessions, history, clock }, turns)
}

/** Registers the routes whose bodies are not read as JSON, each group in a scope of its own. */
async function addScopes(
  app: HttpApp,
  gate: RequestGate,
  { registry, turns, networkServerEvents, brokerHooks }: HttpServerOptions,
  imports: LibraryImports,
): Promise<void> {
  const parseJson = strictJsonParser(app)
  await app.register(async (scope: HttpApp) => {
    streamUploads(scope)
    addRoutes(scope, registry, gate, importRoutes(registry, turns, parseJson))
  })
  await app.register(async (scope: HttpApp) => {
    streamArchives(scope)
    addRoutes(scope, registry, gate, libraryUploadRoutes(imports))
  })
  if (brokerHooks !== undefined) {
    await app.register(async (scope: HttpApp) => {
      takeForms(scope)
      addRoutes(scope, registry, gate, rabbitmqRoutes(brokerHooks.judge))
    })
  }
  if (networkServerEvents === undefined) return
  await app.register(async (scope: HttpApp) => {
    keepBodies(scope)
    addRoutes(scope, registry, gate, networkServerEventRoutes(networkServerEvents))
  })
}

function createApp({ log, settings, https, newcomers }: HttpServerOptions): HttpApp {
  // There are two servers where `localhost` means two addresses.
  const servers: ReturnType<typeof createNodeServer>[] = []
  const app = fastify({
    loggerInstance: log,
    schemaController: { compilersFactory: schemaCompilers },
    logController: new LogController({ disableRequestLogging: true }),
    serverFactory: (handler) => {
      // A part that speaks TLS itself gives the server its connections in clear text.
      const server = createNodeServer(handler, newcomers?.speaksTls === true ? undefined : https)
      servers.push(server)
      newcomers?.watch(server, https)
      const settle = ({ socket }: IncomingMessage): void => newcomers?.settled(socket)
      server.on('request', settle).on('upgrade', settle)
      return server
    },
    trustProxy: settings.isTrustedProxy ?? false,
    bodyLimit: BODY_LIMIT_BYTES,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    return503OnClosing: false,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    routerOptions: { maxParamLength: 128, ignoreTrailingSlash: true },
    clientErrorHandler: answerClientError,
    // For paths that the router does not take. No hooks run for them.
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const { status, body } = answerFor(error)
      request.log.warn({ method: request.method, route: 'unknown', status }, 'request.completed')
      void reply.code(status).header('x-content-type-options', 'nosniff').send(body)
    },
  })
  app.decorate('setSecureContext', (tls: TlsMaterial) => {
    for (const server of servers) replaceCertificate(server, tls)
    newcomers?.setCertificate(tls)
  })
  if (newcomers !== undefined) nameForwarded(app as unknown as HttpApp, newcomers)
  app.addHook('preClose', async () => {
    newcomers?.close()
    const cut = setTimeout(() => {
      for (const server of servers) server.closeAllConnections()
    }, CLOSE_TIMEOUT_MS)
    cut.unref()
    for (const server of servers) server.once('close', () => clearTimeout(cut))
  })
  return app as unknown as HttpApp
}

/**
 * Says of a request whose proxy speaks the PROXY protocol that it is forwarded (RFC 7239 §6.2). It
 * must never count as a request of this machine, where the proxy may be.
 */
function nameForwarded(app: HttpApp, newcomers: Newcomers): void {
  app.addHook('onRequest', async ({ raw }) => {
    if (newcomers.isForwarded(raw.socket)) raw.headers.forwarded ??= 'for=unknown'
  })
}

/**
 * Bodies of this API are JSON in UTF-8 (RFC 8259 §8.1) and are read strictly. The schema decides
 * whether a body may be missing.
 */
function readJsonStrictly(app: HttpApp): void {
  const parseJson = strictJsonParser(app)
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => {
    if (body.length === 0) return undefined
    let text: string
    try {
      text = utf8.decode(body)
    } catch {
      throw invalidArgument('the body is not valid UTF-8', 'invalid_utf8')
    }
    return parseJson(text)
  })
}

/**
 * JSON.parse that refuses `__proto__` and `constructor.prototype`, the keys of prototype pollution.
 */
function strictJsonParser(app: HttpApp): (text: string) => unknown {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  return (text) => {
    let parsed: unknown
    // Calls back before it returns, and ignores its first argument.
    void parseJson(undefined as never, text, (error, value) => {
      if (error !== null) throw error
      parsed = value
    })
    return parsed
  }
}

/**
 * A request of HTTP/1.1 names its host (RFC 9112 §3.2). Not every runtime refuses a request that
 * does not.
 */
function refuseWithoutHost(app: HttpApp): void {
  app.addHook('onRequest', async ({ raw }, reply) => {
    if (raw.httpVersion !== '1.1' || raw.headers.host !== undefined) return
    reply.header('connection', 'close')
    throw invalidArgument('the request has no Host header', 'host_missing')
  })
}

/** A server that is closing says so, and closes the connection. */
function refuseWhileClosing(app: HttpApp): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onRequest', async (_request, reply) => {
    if (!isClosing) return
    reply.header('connection', 'close')
    throw new RequestRefused('unavailable', 'the service is shutting down', 'shutting_down')
  })
}

/**
 * Answers errors and unknown paths. A path that is no route of the API may be a page of the
 * documentation or of the console; the first of them that knows the path answers.
 */
function answerErrors(app: HttpApp, pages: readonly (Documentation | ConsoleFiles | undefined)[]): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, headers, body, unexpected } = answerFor(error)
    if (unexpected) request.log.error({ err: error, route: request.routeOptions.url }, 'request.failed')
    return reply.code(status).headers(headers).send(body)
  })
  app.setNotFoundHandler((request, reply) => {
    if (pages.some((some) => some?.answer(request, reply) === true)) return reply
    if (!app.supportedMethods.includes(request.method)) {
      throw new RequestRefused('unimplemented', `${request.method} is not supported`, 'method_not_supported')
    }
    throw routeNotFound()
  })
}
