/**
 * A running service with one organization, application and device, for clients that were generated
 * from its document.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Administration, PASSWORD } from '../support/administration.ts'
import type { Person } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import { makeFolder, startAsProcess, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** The inputs of a client. */
export interface World extends AsyncDisposable {
  readonly service: RunningService
  /** An empty folder for generated files; it is removed with the world. */
  readonly folder: string
  /** The document, as the service serves it. */
  readonly documentFile: string
  readonly organizationId: string
  readonly applicationId: string
  /** A plain member of the organization. */
  readonly member: Person
  /** A global admin who is a member as well. */
  readonly admin: Person
  /** The environment variables that the clients of this folder read. */
  readonly environment: Readonly<Record<string, string>>
}

/** The device of the world. */
export const DEV_EUI = '0101010101010101'

/**
 * Starts a world: in this process, or as a child from dist/. The service's address is an IP
 * address, because linters dislike `localhost`.
 */
export async function openWorld(how: 'in process' | 'as child' = 'in process'): Promise<World> {
  const folder = await makeFolder()
  const environment = { FIELDGATE_PUBLIC_HOST: '127.0.0.1' }
  const service =
    how === 'in process'
      ? await startInProcess({ environment })
      : await startAsProcess(join(folder, 'data'), { ...environment, FIELDGATE_LOG_LEVEL: 'warn' })
  const administration = new Administration(service)
  const organizationId = await administration.organization('acme')
  const member = await administration.person([{ organizationId }])
  const admin = await administration.person([{ organizationId, isAdmin: true }], true)
  const token = admin.session
  const created = await service.http.must('POST', '/api/applications', {
    token,
    json: { application: { name: 'meters', organizationID: organizationId } },
  })
  const applicationId = textIn(created, 'id')
  await service.http.must('POST', '/api/devices', {
    token,
    json: { device: { devEUI: DEV_EUI, name: 'Meter 1', applicationID: applicationId } },
  })
  const documentFile = join(folder, 'openapi.json')
  await writeFile(documentFile, JSON.stringify(await service.http.must('GET', '/api/openapi.json')))
  return {
    service,
    folder,
    documentFile,
    organizationId,
    applicationId,
    member,
    admin,
    environment: {
      BASE_URL: service.https,
      USER_NAME: member.userName,
      PASSWORD,
      CA_FILE: service.caFile,
      NODE_EXTRA_CA_CERTS: service.caFile,
      SSL_CERT_FILE: service.caFile,
    },
    [Symbol.asyncDispose]: async () => {
      await service.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
