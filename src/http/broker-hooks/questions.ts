/** The parts that the questions of all foreign brokers share. */
import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { HttpApp } from '../api/http-app.ts'
import { givenId, optionalId, text } from '../api/fields.ts'
import type { ForeignClient, Verdict } from './foreign-brokers.ts'

/** The longest body of a question, in bytes: a topic and a user name of MQTT have 64 KiB each. */
export const QUESTION_LIMIT_BYTES = 256 * 1024

const LONGEST_TEXT = 65_535

/** A text of MQTT in a question. */
export function mqttText(description: string) {
  return text(LONGEST_TEXT, description)
}

/** The user name of the client, as it came in CONNECT. */
export const UserName = mqttText('The client’s user name: a broker-access token, or that of a service credential.')

/** A broker of one organization names it in the address of its hook. */
export const OrganizationQuery = {
  organizationId: optionalId(
    'The organization to which the asking broker belongs. Clients of others are refused, and Client Identifiers are free.',
  ),
}

/** The client that a question is about. */
export function clientOf(
  userName: string,
  { organizationId }: { readonly organizationId?: string | undefined },
): ForeignClient {
  return { userName, onlyOrganizationId: givenId(organizationId) }
}

/** Logs a refusal with its reason: not every broker passes the reason on. */
export function noteRefusal(request: Pick<FastifyRequest, 'log' | 'routeOptions'>, verdict: Verdict): boolean {
  if (verdict.allowed) return true
  request.log.info({ route: request.routeOptions.url, code: verdict.code }, 'broker_hook.refused')
  return false
}

/**
 * Takes forms beside JSON in a scope: RabbitMQ sends nothing else. A member that comes twice counts
 * with its last value.
 */
export function takeForms(scope: HttpApp): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => Object.fromEntries(new URLSearchParams(body)),
  )
}

/** The answer of brokers that read the words `allow` and `deny`. */
export const Word = Type.Unsafe<'allow' | 'deny'>({ type: 'string', enum: ['allow', 'deny'] })
