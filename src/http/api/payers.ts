/** To whom each request counts: an organization, a person, or nobody. */
import type { Registry } from '../../identity/registry.ts'
import { forgetOnChange } from '../../identity/store/remembered-facts.ts'
import { Remembered } from '../../remembered.ts'
import type { Payer } from '../shares/request-shares.ts'
import type { Caller } from './caller.ts'

/** The parts of the registry in which a person's organization is looked up. */
export type PayerRegistry = Pick<Registry, 'members' | 'changes'>

/**
 * The payer of a request. `organizationId` is the organization that the request is about, as far as
 * the check of the caller's rights has found one. Undefined: the request has no bound.
 */
export type PayerOf = (
  caller: Caller | null,
  organizationId: string | null | undefined,
) => Payer | undefined | Promise<Payer | undefined>

/** Persons whose organization is remembered. */
const MAXIMUM_PERSONS = 10_000

/**
 * A request about an organization counts to this organization. So a member of two organizations
 * uses the share of the organization for which it asks. Other requests count to the organization of
 * the person, if the person is a member of one alone, and to the person otherwise. Global admins
 * count by themselves: nobody's share is used for the deployment. Programs that collect metrics,
 * and network servers of the whole deployment, have no bound. Nor have foreign brokers: a broker
 * that waits for an answer lets all its clients wait.
 */
export function createPayerOf({ members, changes }: PayerRegistry): PayerOf {
  const homes = new Remembered<string | undefined>({
    look: async (userId) => {
      const { items } = await members.listOfUser(userId, { limit: 2, offset: 0 })
      return items.length === 1 ? items[0]?.organizationId : undefined
    },
    maximum: MAXIMUM_PERSONS,
    maximumAbsent: MAXIMUM_PERSONS,
  })
  forgetOnChange(changes, { access: homes })

  const payerOfPerson = async (userId: string): Promise<Payer> => {
    const home = await homes.of(userId)
    return home === undefined ? { kind: 'person', id: userId } : { kind: 'organization', id: home }
  }

  return (caller, organizationId) => {
    switch (caller?.kind) {
      case 'networkServer':
        return caller.organizationId === null ? undefined : { kind: 'networkServer', id: caller.organizationId }
      case 'apiKey': {
        const { id, organizationId: owner } = caller.key
        return owner === null ? { kind: 'globalAdmin', id: `api-key:${id}` } : { kind: 'organization', id: owner }
      }
      case 'brokerAccess':
        return { kind: 'organization', id: caller.organizationId }
      case 'secondFactorStep':
        return { kind: 'person', id: caller.userId }
      case 'session': {
        const { userId, isAdmin } = caller.viewer
        if (isAdmin) return { kind: 'globalAdmin', id: userId }
        return typeof organizationId === 'string' ? { kind: 'organization', id: organizationId } : payerOfPerson(userId)
      }
      case 'loopback':
      case 'metricsToken':
      case 'foreignBroker':
      case undefined:
        return undefined
    }
  }
}
