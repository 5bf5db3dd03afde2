/**
 * Fieldgate under test: in this process, or as a child that can be killed and frozen. Network
 * servers and integrators reach it by paths that can be cut.
 */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Disk } from '../../src/engine/ports/disk.ts'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import type { Program } from '../support/program.ts'
import { startAsProcess, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { CutProxy } from './cut-proxy.ts'
import { Integrator } from './integrator.ts'
import type { MqttIntegration } from './mqtt-integration.ts'

export interface FieldgateOptions {
  /** True: a child process runs the result of `npm run build`. */
  readonly asProcess?: boolean
  /** The disk for messages; only in this process. */
  readonly disk?: Disk
  readonly environment?: Readonly<Record<string, string>>
}

/** A command, as `GET /api/devices/<DevEUI>/queue` shows it. */
export interface ListedCommand {
  readonly id: string
  readonly state: string
  readonly transmittedAt: string | null
  readonly fCnt: number | null
  readonly code: string
  readonly error: string
}

export class FieldgateSide {
  readonly #folder: string
  readonly #options: FieldgateOptions
  #networkServersFile = ''
  #service: RunningService & { readonly program?: Program }
  /** The path from network servers to MQTT over TLS. */
  readonly networkServerPath: CutProxy
  /** The path from integrators to MQTT over TLS. */
  readonly integratorPath: CutProxy
  /** The administration of the service, also after restarts. */
  readonly administration: Administration

  static async start(folder: string, options: FieldgateOptions = {}): Promise<FieldgateSide> {
    const own = join(folder, 'fieldgate')
    await mkdir(own, { recursive: true })
    const service = await startService(join(own, 'data'), options, '')
    const paths = [await CutProxy.open(service.mqttsPort), await CutProxy.open(service.mqttsPort)] as const
    return new FieldgateSide(own, options, service, ...paths)
  }

  private constructor(
    folder: string,
    options: FieldgateOptions,
    service: RunningService,
    networkServerPath: CutProxy,
    integratorPath: CutProxy,
  ) {
    this.#folder = folder
    this.#options = options
    this.#service = service
    this.networkServerPath = networkServerPath
    this.integratorPath = integratorPath
    const current = (): RunningService => this.#service
    this.administration = new Administration({
      get http() {
        return current().http
      },
      get adminSession() {
        return current().adminSession
      },
    })
  }

  get service(): RunningService {
    return this.#service
  }

  /** Sets the settings file of network servers, from the next start on. */
  async setNetworkServers(networkServers: readonly object[]): Promise<void> {
    this.#networkServersFile = join(this.#folder, 'network-servers.json')
    await writeFile(this.#networkServersFile, JSON.stringify({ networkServers }))
  }

  /** The settings with which a ChirpStack connects, as in docs/network-servers/mqtt.md. */
  mqttIntegration(credential: ServiceCredential, clientId: string): MqttIntegration {
    return {
      server: `ssl://localhost:${this.networkServerPath.port}`,
      userName: credential.userName,
      password: credential.password,
      clientId,
      caFile: this.#service.caFile,
    }
  }

  /** Makes an application with the id that the network server uses. */
  async application(organizationId: string, id: string): Promise<void> {
    assert.equal(await this.administration.application(organizationId, { id, name: `application ${id}` }), id)
  }

  async device(applicationId: string, devEui: string): Promise<void> {
    await this.administration.must('POST', '/api/devices', { device: { devEUI: devEui, applicationID: applicationId } })
  }

  /** Connects an integrator that reads the application's events. */
  async integrator(organizationId: string, applicationId: string): Promise<Integrator> {
    const { administration, service } = this
    const { session } = await administration.person([{ organizationId }])
    const token = await administration.brokerToken(session, organizationId, '86400')
    return Integrator.connect({ port: this.integratorPath.port, ca: service.ca, token, applicationId })
  }

  /** The device's commands, including those that have left the queue. */
  async commands(devEui: string): Promise<readonly ListedCommand[]> {
    const answer = await this.administration.must('GET', `/api/devices/${devEui}/queue`)
    return answer['deviceQueueItems'] as readonly ListedCommand[]
  }

  /**
   * Resolves when the command fulfils the condition; rejects with the command's state after the
   * time limit.
   */
  async untilCommand(
    devEui: string,
    id: string,
    isIt: (command: ListedCommand) => boolean,
    withinMs: number,
  ): Promise<void> {
    const deadline = performance.now() + withinMs
    for (;;) {
      const command = (await this.commands(devEui)).find((listed) => listed.id === id)
      if (command !== undefined && isIt(command)) return
      assert.ok(performance.now() < deadline, `the command ${id} of ${devEui} is ${JSON.stringify(command)}`)
      await sleep(100)
    }
  }

  async stop(): Promise<void> {
    await this.#service.stop()
  }

  /** Starts it again with the same data, and leads the paths there. */
  async comeBack(): Promise<void> {
    this.#service = await startService(join(this.#folder, 'data'), this.#options, this.#networkServersFile)
    for (const path of [this.networkServerPath, this.integratorPath]) path.leadTo(this.#service.mqttsPort)
  }

  /** Kills it, as a power cut would; only a child process. */
  async kill(): Promise<void> {
    const { program } = this.#service
    assert.ok(program !== undefined, 'it is no process of its own')
    program.signal('SIGKILL')
    await program.ended()
    await this.#service.stop()
  }

  /** Freezes it, with its connections open; only a child process. */
  freeze(): void {
    this.#service.program?.signal('SIGSTOP')
  }

  async close(): Promise<void> {
    await this.#service.stop()
    await Promise.all([this.networkServerPath.close(), this.integratorPath.close()])
  }
}

function startService(
  dataDirectory: string,
  { asProcess = false, disk, environment = {} }: FieldgateOptions,
  networkServersFile: string,
): Promise<RunningService & { readonly program?: Program }> {
  const file = networkServersFile === '' ? {} : { FIELDGATE_NETWORK_SERVERS_FILE: networkServersFile }
  const settings = { FIELDGATE_LOG_LEVEL: 'info', ...file, ...environment }
  if (asProcess) return startAsProcess(dataDirectory, settings)
  return startInProcess({ dataDirectory, environment: settings, ...(disk === undefined ? {} : { disk }) })
}
