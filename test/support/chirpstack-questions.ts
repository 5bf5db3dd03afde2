/**
 * The calls of Fieldgate to the gRPC API of ChirpStack v4 about commands, for a real ChirpStack or
 * the tests' own.
 */
import assert from 'node:assert/strict'
import grpc from '@grpc/grpc-js'
import type { ServiceError } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import application from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import protobufTimestamp from 'google-protobuf/google/protobuf/timestamp_pb.js'

export interface AskedChirpStack {
  /** `host:port`. */
  readonly target: string
  readonly apiKey: string
  /** An existing device whose queue is empty. */
  readonly devEui: string
}

/** An answer, without the parts that differ from time to time. */
export interface GivenAnswer {
  /** gRPC's status code; 0 for an answer with content. */
  readonly code: number
  /** The status message, with `<id>` in place of ids and `<eui>` in place of EUIs. */
  readonly details: string
  readonly answer?: object
}

/** The answers, by the question. */
export type GivenAnswers = Readonly<Record<string, GivenAnswer>>

const OWN_ID = '11111111-2222-4333-8444-555555555555'
const NOWHERE = 'ffffffffffffffff'
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/
const CALL_MS = 15_000

/** Asks everything in order, and leaves the device's queue empty. */
export async function askChirpStack({ target, apiKey, devEui }: AskedChirpStack): Promise<GivenAnswers> {
  const credentials = grpc.credentials.createInsecure()
  const devices = new deviceService.DeviceServiceClient(target, credentials)
  const applications = new applicationService.ApplicationServiceClient(target, credentials)
  const answers: Record<string, GivenAnswer> = {}
  const ask = async <Answer>(
    question: string,
    call: (metadata: grpc.Metadata, answered: grpc.requestCallback<Answer>) => unknown,
    read: (answer: Answer) => object,
    key = apiKey,
  ): Promise<void> => {
    const metadata = new grpc.Metadata()
    metadata.set('authorization', `Bearer ${key}`)
    answers[question] = await answerOf(call, metadata, read)
  }
  const enqueue = (question: string, members: Partial<QueueMembers>, key?: string): Promise<void> => {
    const query = enqueueQuery({ devEui, fPort: 10, length: 3, ...members })
    return ask(question, (metadata, answered) => devices.enqueue(query, metadata, deadline(), answered), idOf, key)
  }
  const queue = (question: string, of: string): Promise<void> => {
    const query = new device.GetDeviceQueueItemsRequest()
    query.setDevEui(of)
    return ask(question, (metadata, answered) => devices.getQueue(query, metadata, deadline(), answered), queueOf)
  }
  const flush = (question: string, of: string): Promise<void> => {
    const query = new device.FlushDeviceQueueRequest()
    query.setDevEui(of)
    return ask(
      question,
      (metadata, answered) => devices.flushQueue(query, metadata, deadline(), answered),
      () => ({}),
    )
  }
  try {
    await queue('the queue of a device without commands', devEui)
    await enqueue('a command', {})
    await enqueue('a command with an id of the sender', { id: OWN_ID })
    await enqueue('the same command again', { id: OWN_ID })
    await queue('the queue of a device with commands', devEui)
    await enqueue('a command with a time at which it expires', { expiresAtSeconds: 4_000_000_000 })
    await enqueue('a command of 500 bytes', { length: 500 })
    for (const fPort of [0, 223, 224, 255, 256]) await enqueue(`a command for fPort ${fPort}`, { fPort })
    await enqueue('a command for a device that is not there', { devEui: NOWHERE })
    await enqueue('a command with an id that is no UUID', { id: 'x' })
    await enqueue('a command with a wrong key', {}, 'wrong')
    await queue('the queue of a device that is not there', NOWHERE)
    await flush('an empty queue for a device that is not there', NOWHERE)
    await flush('an empty queue', devEui)
    await queue('the queue after that', devEui)
    const query = new device.GetDeviceRequest()
    query.setDevEui(NOWHERE)
    const noDevice = (metadata: grpc.Metadata, answered: grpc.requestCallback<device.GetDeviceResponse>): unknown =>
      devices.get(query, metadata, deadline(), answered)
    await ask('a device that is not there', noDevice, () => ({}))
    const applicationQuery = new application.GetApplicationRequest()
    applicationQuery.setId(OWN_ID)
    const noApplication = (
      metadata: grpc.Metadata,
      answered: grpc.requestCallback<application.GetApplicationResponse>,
    ): unknown => applications.get(applicationQuery, metadata, deadline(), answered)
    await ask('an application that is not there', noApplication, () => ({}))
    return answers
  } finally {
    devices.close()
    applications.close()
  }
}

interface QueueMembers {
  readonly devEui: string
  readonly fPort: number
  /** The length of the data, in bytes. */
  readonly length: number
  readonly id: string
  readonly expiresAtSeconds: number
}

function enqueueQuery(members: Pick<QueueMembers, 'devEui' | 'fPort' | 'length'> & Partial<QueueMembers>) {
  const item = new device.DeviceQueueItem()
  item.setDevEui(members.devEui)
  item.setFPort(members.fPort)
  item.setData(Buffer.alloc(members.length))
  if (members.id !== undefined) item.setId(members.id)
  if (members.expiresAtSeconds !== undefined) {
    const expiry = new protobufTimestamp.Timestamp()
    expiry.setSeconds(members.expiresAtSeconds)
    item.setExpiresAt(expiry)
  }
  const query = new device.EnqueueDeviceQueueItemRequest()
  query.setQueueItem(item)
  return query
}

function idOf(answer: device.EnqueueDeviceQueueItemResponse): object {
  return { isUuid: UUID.test(answer.getId()), isIdOfSender: answer.getId() === OWN_ID }
}

function queueOf(answer: device.GetDeviceQueueItemsResponse): object {
  return {
    totalCount: answer.getTotalCount(),
    items: answer.getResultList().map((item) => ({
      isUuid: UUID.test(item.getId()),
      isIdOfSender: item.getId() === OWN_ID,
      fPort: item.getFPort(),
      confirmed: item.getConfirmed(),
      data: item.getData_asB64(),
      isPending: item.getIsPending(),
      fCntDown: item.getFCntDown(),
    })),
  }
}

function deadline(): { readonly deadline: number } {
  return { deadline: Date.now() + CALL_MS }
}

async function answerOf<Answer>(
  call: (metadata: grpc.Metadata, answered: grpc.requestCallback<Answer>) => unknown,
  metadata: grpc.Metadata,
  read: (answer: Answer) => object,
): Promise<GivenAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  call(metadata, (error, answer) => {
    if (error !== null) reject(error)
    else if (answer === undefined) reject(new Error('an answer without content'))
    else resolve(answer)
  })
  try {
    return { code: 0, details: '', answer: read(await promise) }
  } catch (error) {
    const { code, details } = error as ServiceError
    assert.ok(typeof code === 'number', String(error))
    return { code, details: masked(details) }
  }
}

function masked(text: string): string {
  return text.replaceAll(new RegExp(UUID, 'g'), '<id>').replaceAll(/[0-9a-f]{16}/g, '<eui>')
}
