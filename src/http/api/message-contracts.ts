/**
 * The contracts of messages over HTTP: the JSON Schemas of events, commands and notices with a
 * sample each, and the AsyncAPI document of the broker.
 */
import { Type } from 'typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { asyncApiDocument } from '../../lorawan/contracts/asyncapi.ts'
import type { AsyncApiAddresses } from '../../lorawan/contracts/asyncapi.ts'
import { CONTRACTS, FAMILIES } from '../../lorawan/contracts/contracts.ts'
import { SCHEMAS_PATH, schemaDocument, schemaIndex } from '../../lorawan/contracts/schema-documents.ts'
import { KEPT_FOR_AN_HOUR, sendStaticFile, staticFile } from '../pages/static-files.ts'
import type { StaticFile } from '../pages/static-files.ts'
import { OPEN } from './access.ts'
import { objectNotFound } from './errors.ts'
import { choice, responses } from './fields.ts'
import { resource, route } from './routes.ts'
import type { Route } from './routes.ts'
import { NAME } from './schema-keywords.ts'
import { RULE } from './validate.ts'

/** Where the broker is reached; asked with the first request. */
export type BrokerAddress = () => AsyncApiAddresses['mqtts']

const ASYNCAPI_PATH = '/api/asyncapi.json'

const Document = Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'A document of JSON.' })

const File = Type.String({
  pattern: String.raw`^[a-z-]{1,32}(?:\.sample)?\.json$`,
  description: 'The name of a schema, such as `up.json`, or of its sample, such as `up.sample.json`.',
  examples: ['up.json'],
  [RULE]: 'must be the name of a schema or of a sample',
})

const Group = choice(['events', 'commands', 'notices'], {
  description: 'What the messages are about.',
  [NAME]: 'MessageGroup',
})

const Family = choice([...FAMILIES, 'normalized'], {
  description:
    'a: ids as `devEUI` (ChirpStack v3). b: `deviceInfo` (ChirpStack v4, The Things Stack). normalized: the shape of Fieldgate.',
  [NAME]: 'EventFamily',
})

/** The schemas below `/api/schemas/v1`, and the AsyncAPI document. */
export function messageContractRoutes(baseUrl: string, mqtts: BrokerAddress): readonly Route[] {
  const files = new ContractFiles(baseUrl, mqtts)
  return resource('Contracts', [index(files), messageSchema(files), eventSchema(files), asyncApi(files)])
}

function index(files: ContractFiles): Route {
  return route({
    method: 'GET',
    url: `${SCHEMAS_PATH}/index.json`,
    may: OPEN,
    schema: {
      operationId: 'getSchemaIndex',
      summary: 'The list of all JSON Schemas of messages',
      description: 'The address of each schema and of its sample. `direction` says whether clients receive or send it.',
      response: responses(Document),
    },
    handle: async (_nobody, request, reply) => files.send(`${SCHEMAS_PATH}/index.json`, request, reply),
  })
}

function messageSchema(files: ContractFiles): Route {
  return route({
    method: 'GET',
    url: `${SCHEMAS_PATH}/:group/:file`,
    may: OPEN,
    schema: {
      operationId: 'getMessageSchema',
      summary: 'The JSON Schema of a message',
      description: 'The schema of any event, of a command, of its answer, or of a notice; or a sample of it.',
      params: Type.Object({ group: Group, file: File }),
      response: responses(Document),
    },
    handle: async (_nobody, request, reply) => {
      const { group, file } = request.params
      return files.send(`${SCHEMAS_PATH}/${group}/${file}`, request, reply)
    },
  })
}

function eventSchema(files: ContractFiles): Route {
  return route({
    method: 'GET',
    url: `${SCHEMAS_PATH}/events/:family/:file`,
    may: OPEN,
    schema: {
      operationId: 'getEventSchema',
      summary: 'The JSON Schema of a kind of event',
      description: 'The payload of one kind of event in one family, or in the normalized shape, or a sample of it.',
      params: Type.Object({ family: Family, file: File }),
      response: responses(Document),
    },
    handle: async (_nobody, request, reply) => {
      const { family, file } = request.params
      return files.send(`${SCHEMAS_PATH}/events/${family}/${file}`, request, reply)
    },
  })
}

function asyncApi(files: ContractFiles): Route {
  return route({
    method: 'GET',
    url: ASYNCAPI_PATH,
    may: OPEN,
    schema: {
      operationId: 'getAsyncApiDocument',
      summary: 'The AsyncAPI 3 document of the broker',
      description: 'Every topic, message, notice, User Property and Reason Code of MQTT.',
      response: responses(Document),
    },
    handle: async (_nobody, request, reply) => files.send(ASYNCAPI_PATH, request, reply),
  })
}

/**
 * The documents, made with the first request: before it, the port of the broker may not be known.
 * They are some 400 KB of memory.
 */
class ContractFiles {
  readonly #baseUrl: string
  readonly #mqtts: BrokerAddress
  #files: ReadonlyMap<string, StaticFile> | undefined = undefined

  constructor(baseUrl: string, mqtts: BrokerAddress) {
    this.#baseUrl = baseUrl
    this.#mqtts = mqtts
  }

  send(path: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    this.#files ??= this.#made()
    const file = this.#files.get(path)
    if (file === undefined) throw objectNotFound()
    sendStaticFile(request, reply, file, KEPT_FOR_AN_HOUR)
    return reply
  }

  #made(): ReadonlyMap<string, StaticFile> {
    const baseUrl = this.#baseUrl
    const files = new Map<string, StaticFile>()
    const add = (path: string, document: unknown): void => {
      files.set(path, staticFile('.json', `${JSON.stringify(document, null, 2)}\n`))
    }
    add(`${SCHEMAS_PATH}/index.json`, schemaIndex(baseUrl))
    for (const contract of CONTRACTS) {
      add(`${SCHEMAS_PATH}/${contract.path}.json`, schemaDocument(contract, baseUrl))
      add(`${SCHEMAS_PATH}/${contract.path}.sample.json`, contract.sample)
    }
    add(ASYNCAPI_PATH, asyncApiDocument({ baseUrl, mqtts: this.#mqtts() }))
    return files
  }
}
