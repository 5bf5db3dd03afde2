/**
 * The API reference for people: the OpenAPI document as one page of HTML, and as sections that the
 * search finds.
 */
import { asSchema, SchemaReader, textOf } from './reference-schemas.ts'
import type { MemberRow, Schema } from './reference-schemas.ts'

/** The page, and its entry in the search of the documentation. */
export interface Reference {
  readonly content: string
  /** The list of operations. */
  readonly contents: string
  /** A page of the search index: see site/browser/search.ts. */
  readonly searchPage: {
    readonly name: string
    readonly title: string
    readonly address: string
    readonly weight: number
    readonly sections: readonly (readonly [anchor: string, heading: string, text: string])[]
  }
}

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly fields: Schema
}

/** The people and programs that may send a request, by the security schemes of an operation. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  bearer: 'the session of a login',
  brokerAccess: 'a broker-access token',
  serviceCredential: 'a service credential (Basic)',
}

/** Makes the page of a finished document, which is at `address`. */
export function referenceOf(document: Schema, address: string): Reference {
  const reader = new SchemaReader(document)
  const [server] = Array.isArray(document['servers']) ? (document['servers'] as Schema[]) : []
  const baseUrl = textOf(server?.['url'])
  const operations = operationsOf(document)
  const tags = (Array.isArray(document['tags']) ? (document['tags'] as Schema[]) : []).map((tag) => ({
    name: textOf(tag['name']),
    description: textOf(tag['description']),
    operations: operations.filter((one) => one.tag === tag['name']),
  }))
  const sections = tags.map(
    ({ name, description, operations: own }) =>
      `<h2 id="${anchorOf(name)}">${escaped(name)}</h2>\n<p>${prose(description)}</p>\n` +
      own.map((operation) => operationHtml(operation, reader, baseUrl)).join('\n'),
  )
  const list = tags.map(
    ({ name, operations: own }) =>
      `<p><a href="#${anchorOf(name)}">${escaped(name)}</a></p><ul>${own
        .map(({ id, fields }) => `<li><a href="#${id}">${escaped(textOf(fields['summary']))}</a></li>`)
        .join('\n')}</ul>`,
  )
  return {
    content: `${introduction(document, operations.length)}\n${sections.join('\n')}`,
    contents: `<aside aria-label="Operations">${list.join('\n')}</aside>`,
    searchPage: {
      name: 'API reference',
      title: 'API reference',
      address,
      weight: 1,
      sections: operations.map((one) => searchSection(one, reader)),
    },
  }
}

function operationsOf(document: Schema): Operation[] {
  return Object.entries(asSchema(document['paths'])).flatMap(([path, item]) =>
    Object.entries(asSchema(item)).map(([method, value]) => {
      const fields = asSchema(value)
      const [tag] = Array.isArray(fields['tags']) ? (fields['tags'] as unknown[]) : []
      return { id: textOf(fields['operationId']), method: method.toUpperCase(), path, tag: textOf(tag), fields }
    }),
  )
}

function introduction(document: Schema, count: number): string {
  return `<h1>API reference</h1>
<p>${prose(textOf(asSchema(document['info'])['description']))}</p>
<p>${count} operations. For programs: <a href="/api/openapi.json">the OpenAPI 3.1 document</a>, and
<a href="/api/asyncapi.json">the AsyncAPI 3 document</a> of <a href="/docs/events#asyncapi">the broker</a>. How things fit together: <a href="/docs/api">the HTTP interface</a>.
What each error means: <a href="/docs/errors#http">errors</a>.</p>
<p>In the lines for a terminal, <code>$SESSION</code> is the <code>jwt</code> that <a href="#login">login</a> answers, and <code>ca.pem</code> the certificate of this
deployment’s own authority (<a href="#getCertificateAuthority">where to get it</a>). Leave <code>--cacert ca.pem</code> out where the certificate is a public one.</p>`
}

function operationHtml(operation: Operation, reader: SchemaReader, baseUrl: string): string {
  const { id, method, path, fields } = operation
  const parameters = parametersOf(fields)
  const body = contentOf(asSchema(fields['requestBody']))
  const answers = Object.entries(asSchema(fields['responses'])).filter(([status]) => status.startsWith('2'))
  const parts = [
    `<h3 id="${id}">${escaped(textOf(fields['summary']))} <a class="anchor" href="#${id}" aria-label="Link to: ${escaped(textOf(fields['summary']))}">#</a></h3>`,
    `<p><code><span class="method">${method}</span> ${escaped(path)}</code></p>`,
    `<p>${prose(textOf(fields['description']))}</p>`,
    `<p>Credential: ${credentialsOf(fields)}.</p>`,
    parameters.length === 0 ? '' : `<h4>Parameters</h4>${table(parameters.map((one) => parameterRow(one, reader)))}`,
    ...body.map((content) => bodyHtml('Body', content, reader)),
    ...answers.flatMap(([, answer]) => {
      const content = contentOf(asSchema(answer))
      if (content.length === 0) return [`<h4>Answer</h4><p>${prose(textOf(asSchema(answer)['description']))}</p>`]
      return content.map((one) => bodyHtml('Answer', one, reader))
    }),
    `<h4>In a terminal</h4>${code(curlLine(operation, reader, baseUrl))}`,
  ]
  return `<div class="operation">${parts.filter((part) => part !== '').join('\n')}</div>`
}

/**
 * Members are folded away: the example tells most, and a page of all members would hide the
 * operations.
 */
function bodyHtml(title: string, { type, schema, example }: Content, reader: SchemaReader): string {
  const heading = `<h4>${title}${type === 'application/json' ? '' : `: <code>${escaped(type)}</code>`}</h4>`
  const rows = reader.rows(schema)
  const words = textOf(reader.resolved(schema)['description'])
  if (rows.length === 0 && !isJson(type)) return `${heading}<p>${prose(words === '' ? 'Text.' : words)}</p>`
  const members =
    rows.length === 0
      ? ''
      : `<details><summary>All members of the ${title.toLowerCase()}</summary>${table(rows)}</details>`
  const shown = example ?? reader.example(schema)
  return `${heading}${code(JSON.stringify(shown, undefined, 2))}${members}`
}

function isJson(type: string): boolean {
  return type === 'application/json'
}

function parametersOf(fields: Schema): Schema[] {
  return Array.isArray(fields['parameters']) ? (fields['parameters'] as Schema[]) : []
}

function parameterRow(parameter: Schema, reader: SchemaReader): MemberRow {
  const schema = asSchema(parameter['schema'])
  const place = parameter['in'] === 'query' ? '' : ` (${textOf(parameter['in'])})`
  return {
    name: `${textOf(parameter['name'])}${place}`,
    isRequired: parameter['required'] === true,
    type: reader.words(schema),
    description: textOf(parameter['description']) || textOf(schema['description']),
  }
}

/** A body or an answer in one media type. */
interface Content {
  readonly type: string
  readonly schema: Schema
  /** A real one; undefined: it is made from the schema. */
  readonly example: unknown
}

function contentOf(holder: Schema): Content[] {
  return Object.entries(asSchema(holder['content'])).map(([type, media]) => {
    const { schema, example } = asSchema(media)
    return { type, schema: asSchema(schema), example }
  })
}

function credentialsOf(fields: Schema): string {
  const schemes = Array.isArray(fields['security']) ? (fields['security'] as Schema[]).flatMap(Object.keys) : []
  if (schemes.length === 0) return 'none'
  return schemes.map((scheme) => CREDENTIALS[scheme] ?? escaped(scheme)).join(', or ')
}

/** A call that works once the ids in it are those of the deployment. */
function curlLine({ method, path, fields }: Operation, reader: SchemaReader, baseUrl: string): string {
  const valueOf = (parameter: Schema): string =>
    String(parameter['example'] ?? reader.example(asSchema(parameter['schema'])))
  const parameters = parametersOf(fields)
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one['in'] === 'path' && one['name'] === name)
    return encodeURIComponent(parameter === undefined ? '1' : valueOf(parameter))
  })
  const query = parameters
    .filter((one) => one['in'] === 'query' && one['required'] === true)
    .map((one) => `${textOf(one['name'])}=${encodeURIComponent(valueOf(one))}`)
  const [body] = contentOf(asSchema(fields['requestBody']))
  const schemes = Array.isArray(fields['security']) ? (fields['security'] as Schema[]).flatMap(Object.keys) : []
  const words = [
    'curl --cacert ca.pem',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...credentialWords(schemes),
    ...parameters
      .filter((one) => one['in'] === 'header')
      .map((one) => quoted(`${textOf(one['name'])}: ${valueOf(one)}`))
      .map((header) => `-H ${header}`),
    ...bodyWords(body, reader),
    quoted(`${baseUrl}${filled}${query.length === 0 ? '' : `?${query.join('&')}`}`),
  ]
  return words.join(' \\\n  ')
}

function credentialWords(schemes: readonly string[]): string[] {
  if (schemes.includes('bearer')) return ['-H "Authorization: Bearer $SESSION"']
  return schemes.includes('serviceCredential') ? ['-u "$USER_NAME:$PASSWORD"'] : []
}

function bodyWords(body: Content | undefined, reader: SchemaReader): string[] {
  if (body === undefined) return []
  const { type, schema, example } = body
  const content = isJson(type)
    ? `-d ${quoted(JSON.stringify(example ?? reader.example(schema)))}`
    : '--data-binary @file'
  return [`-H ${quoted(`Content-Type: ${type}`)}`, content]
}

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function table(rows: readonly MemberRow[]): string {
  const lines = rows.map(
    ({ name, isRequired, type, description }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${isRequired ? 'yes' : ''}</td><td>${escaped(type)}</td><td>${prose(description)}</td></tr>`,
  )
  return `<div class="table"><table><thead><tr><th>Name</th><th>Required</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${lines.join('\n')}</tbody></table></div>`
}

function searchSection(
  { id, method, path, fields }: Operation,
  reader: SchemaReader,
): readonly [string, string, string] {
  const names = [
    ...parametersOf(fields).map((one) => textOf(one['name'])),
    ...contentOf(asSchema(fields['requestBody'])).flatMap(({ schema }) => reader.rows(schema).map(({ name }) => name)),
  ]
  const text = `${textOf(fields['description'])} ${names.join(' ')}`
  return [id, `${textOf(fields['summary'])} · ${id} · ${method} ${path}`, text]
}

function code(text: string): string {
  return `<pre><code>${escaped(text)}\n</code></pre>`
}

function anchorOf(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(' ', '-')}`
}

/** A sentence of the document; text in backticks becomes code. */
function prose(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
