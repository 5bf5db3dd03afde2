import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { EXAMPLES } from './operation-examples.ts'

interface Media {
  readonly schema: object
  readonly example?: unknown
}

interface Holder {
  readonly content?: Readonly<Record<string, Media>>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: object
    readonly example?: unknown
  }[]
  readonly requestBody?: Holder
  readonly responses: Readonly<Record<string, Holder>>
}

const RECORD = 'run `npm run examples`'

let deployment: TestDeployment
let operations: readonly Operation[]
let ajv: Ajv2020

before(async () => {
  deployment = await openTestDeployment()
  const document = (await deployment.ask(undefined, { method: 'GET', url: '/api/openapi.json' })).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: object
  }>()
  operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ $id: 'document', components: document.components })
})
after(() => deployment.close())

/** The faults of a value, by a schema of the document. */
function faultsOf(schema: object, value: unknown): string {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')
  const validate = ajv.compile(JSON.parse(text) as object)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

test('each operation has an example of its answer, and of its body where it takes one', () => {
  for (const { operationId, requestBody, responses } of operations) {
    assert.ok(Object.hasOwn(EXAMPLES, operationId), `${operationId}: ${RECORD}`)
    const holders = [requestBody, responses['200']].filter((holder) => holder?.content !== undefined)
    for (const holder of holders) {
      const examples = Object.values(holder?.content ?? {}).filter(({ example }) => example !== undefined)
      assert.ok(examples.length > 0, `${operationId}: ${RECORD}`)
    }
  }
})

test('each parameter of a path has an example', () => {
  for (const { operationId, parameters = [] } of operations) {
    const missing = parameters.filter((one) => one.in === 'path' && one.example === undefined)
    assert.deepEqual(missing, [], operationId)
  }
})

test('each example agrees with its schema, and there is none without an operation', () => {
  let count = 0
  for (const { operationId, parameters = [], requestBody, responses } of operations) {
    const media = [requestBody, responses['200']].flatMap((holder) => Object.values(holder?.content ?? {}))
    for (const { schema, example } of [...media, ...parameters]) {
      if (example === undefined) continue
      assert.equal(faultsOf(schema, example), '', `${operationId}: ${RECORD}`)
      count += 1
    }
  }
  assert.ok(count > operations.length)
  assert.deepEqual(Object.keys(EXAMPLES).toSorted(), operations.map(({ operationId }) => operationId).toSorted())
})

test('no example has a secret that was good anywhere', () => {
  const text = JSON.stringify(EXAMPLES)
  assert.ok(!/eyJ[\w-]+\.eyJ[\w-]{20,}/.test(text))
  for (const [, secret = ''] of text.matchAll(/(?:fg[a-z]?_|password\\*":\\*")([A-Za-z0-9_-]{40,})/g)) {
    assert.match(secret, /^[A_]+$/)
  }
})
