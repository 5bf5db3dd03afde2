/** Puts an example of its request and of its answer into each operation of the OpenAPI document. */
import { EXAMPLES } from './operation-examples.ts'

/** An example of one operation. */
export interface OperationExample {
  /** The values of its parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly request?: ExampleContent
  readonly answer?: ExampleContent
}

interface ExampleContent {
  readonly mediaType: string
  readonly value: unknown
}

/** Any object of the document. */
type Node = Readonly<Record<string, unknown>>

/** The operation with its example; the same operation where there is none. */
export function withExample(operation: Node): Node {
  const text = EXAMPLES[String(operation['operationId'])]
  if (text === undefined) return operation
  const { parameters: values = {}, request, answer } = JSON.parse(text) as OperationExample
  const { parameters, requestBody, responses, ...rest } = operation
  const { '200': success, ...others } = (responses ?? {}) as Readonly<Record<string, Node>>
  return {
    ...rest,
    ...(Array.isArray(parameters) ? { parameters: parameters.map((one) => withValue(one as Node, values)) } : {}),
    ...(requestBody === undefined ? {} : { requestBody: withContent(requestBody as Node, request) }),
    responses: { ...(success === undefined ? {} : { '200': withContent(success, answer) }), ...others },
  }
}

function withValue(parameter: Node, values: Readonly<Record<string, string>>): Node {
  const name = String(parameter['name'])
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? parameter : { ...parameter, example: typedAs(parameter['schema'] as Node, value) }
}

/** The value as its schema has it: in a URL each value is a text. */
function typedAs({ type }: Node, value: string): unknown {
  if (type === 'boolean') return value === 'true'
  return type === 'integer' || type === 'number' ? Number(value) : value
}

function withContent(holder: Node, example: ExampleContent | undefined): Node {
  const content = holder['content'] as Readonly<Record<string, Node>> | undefined
  const media = content?.[example?.mediaType ?? '']
  if (content === undefined || example === undefined || media === undefined) return holder
  return { ...holder, content: { ...content, [example.mediaType]: { ...media, example: example.value } } }
}
