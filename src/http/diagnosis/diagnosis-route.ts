/** The route that answers why no data comes. */
import { Type } from 'typebox'
import { parseDevEui } from '../../identity/devices/eui.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { narrowed } from '../api/access.ts'
import { invalidArgument } from '../api/errors.ts'
import { choice, missingNodes, MissingNodes, optionalId, responses, text } from '../api/fields.ts'
import { roleIn } from '../api/ownership.ts'
import { mayDo } from '../api/permissions.ts'
import type { Role } from '../api/permissions.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import type { Turns } from '../shares/work-turns.ts'
import { diagnose } from './diagnosis.ts'
import type { Asked, Diagnosis } from './diagnosis.ts'
import type { Circle, DiagnosisParts } from './diagnosis-parts.ts'
import { STEP_STATES, STEPS } from './steps.ts'

/** The longest Client Identifier, and the longest topic, in characters. */
const MAXIMUM_ASKED = 1_024

const StepItem = Type.Object(
  {
    step: choice(STEPS, {
      description: 'Place on the way from the device to the client.',
      [NAME]: 'DiagnosisStepName',
    }),
    status: choice(STEP_STATES, { description: 'unknown: it can’t be judged.', [NAME]: 'DiagnosisState' }),
    code: Type.String({ description: 'Stable code of a problem: see docs/why-no-data.md; "" otherwise.' }),
    sentence: Type.String({ description: 'For people.' }),
    advice: Type.String({ description: 'For people: what to do; "" where nothing is to be done.' }),
    facts: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }, { [NAME]: 'DiagnosisFact' }), {
      description: 'The facts behind the sentence.',
    }),
  },
  { description: 'A step of the way, judged', [NAME]: 'DiagnosisStep' },
)

const Answer = Type.Object(
  {
    isWell: Type.Boolean({ description: 'True: nothing wrong was found.' }),
    cause: Type.String({ description: 'Code of the first cause; "" where nothing wrong was found.' }),
    sentence: Type.String({ description: 'The cause and what to do, for people.' }),
    steps: Type.Array(StepItem, { description: 'In the order of the way.' }),
    missingNodes: MissingNodes,
  },
  { description: 'Why no data comes', [NAME]: 'Diagnosis' },
)

const Query = Type.Object({
  devEui: Type.Optional(text(64, 'DevEUI of a device, in any spelling.')),
  clientId: Type.Optional(text(MAXIMUM_ASKED, 'Client Identifier of an MQTT client.')),
  topic: Type.Optional(text(MAXIMUM_ASKED, 'Topic Filter to which a client subscribes.')),
  organizationID: optionalId('Organization id; it may be left out where the thing or the person has one.'),
})

/** The diagnosis. Its work goes in turns. */
export function diagnosisRoutes(parts: DiagnosisParts, turns: Turns): readonly Route[] {
  const get = route({
    method: 'GET',
    url: '/api/diagnosis',
    may: narrowed('diagnosis.read', { organization: 'query.organizationID' }),
    schema: {
      operationId: 'diagnose',
      summary: 'Say why no data comes',
      description:
        'Walks the way from the device to the client, for one of devEui, clientId and topic. An admin of the organization ' +
        'sees all clients, and another member its own. Things of other organizations are answered as things that do not exist.',
      querystring: Query,
      response: responses(Answer),
    },
    handle: async ({ viewer, organizationId, role }, request) => {
      const asked = askedBy(request.query)
      const circle =
        organizationId === undefined || role === undefined
          ? await circleOf(parts, viewer, asked)
          : circleWithin(organizationId, role, viewer)
      return answerOf(await turns.run(request.turnsOf, () => diagnose(parts, circle, asked, viewer)))
    },
  })
  return resource('Operation', [get])
}

/** Exactly one of the three questions. */
function askedBy(query: { readonly devEui?: string; readonly clientId?: string; readonly topic?: string }): Asked {
  const given = (['devEui', 'clientId', 'topic'] as const).filter((kind) => (query[kind] ?? '') !== '')
  const [kind] = given
  if (kind === undefined || given.length > 1) throw invalidArgument('devEui, clientId, topic: give exactly one of them')
  const value = query[kind] ?? ''
  if (kind !== 'devEui') return { kind, value }
  const devEui = parseDevEui(value)
  if (devEui === undefined) throw invalidArgument('devEui: must be 16 hexadecimal digits')
  return { kind, value: devEui }
}

function circleWithin(organizationId: string, role: Role, { userId }: Viewer): Circle {
  return { organizationId, userId: mayDo(role, 'refusal.read') ? undefined : userId }
}

/**
 * The circle of a question that names no organization: the organization of the thing, if the person
 * has a role there; otherwise the person's only organization.
 */
async function circleOf({ registry }: DiagnosisParts, viewer: Viewer, asked: Asked): Promise<Circle> {
  const owner = await ownerOf(registry, asked)
  if (owner !== undefined) {
    const role = await roleIn(registry, viewer, owner)
    if (role !== 'none') return circleWithin(owner, role, viewer)
  }
  if (viewer.isAdmin && asked.kind === 'clientId') return { organizationId: undefined, userId: undefined }
  const { items, totalCount } = await registry.organizations.list(viewer, { limit: 1, offset: 0 })
  const [only] = items
  if (only !== undefined && totalCount === 1) {
    return circleWithin(only.id, await roleIn(registry, viewer, only.id), viewer)
  }
  if (asked.kind === 'clientId') return { organizationId: undefined, userId: viewer.userId }
  throw invalidArgument('organizationID: is needed, for the person has several organizations, or none')
}

async function ownerOf({ devices, directory }: DiagnosisParts['registry'], asked: Asked): Promise<string | undefined> {
  if (asked.kind === 'devEui') return (await devices.get(asked.value))?.organizationId
  if (asked.kind === 'clientId') return undefined
  const applicationId = asked.value
    .split('/')
    .find((_, index, levels) => /^applications?$/i.test(levels[index - 1] ?? ''))
  return applicationId === undefined ? undefined : directory.organizationOf(applicationId)
}

function answerOf({ cause, steps, missing }: Diagnosis) {
  const unjudged = steps.filter(({ status }) => status === 'unknown')
  const sentence =
    cause === undefined
      ? ['Nothing wrong was found on the way.', ...unjudged.map((step) => step.sentence)].join(' ')
      : `${cause.sentence} ${cause.advice}`
  return {
    isWell: cause === undefined,
    cause: cause?.code ?? '',
    sentence,
    steps: steps.map((step) => ({ ...step, facts: [...step.facts] })),
    ...missingNodes(missing),
  }
}
