/**
 * The policy of the bare broker: one tenant, one optional user name and password, and every topic
 * allowed except the denied filters.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ALLOWED } from '../../broker/ports/policy.ts'
import type { Admission, Credentials, Decision, Permit, Policy, Refusal } from '../../broker/ports/policy.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { covers } from '../../mqtt/topic-filter.ts'

export interface BarePolicyOptions {
  /** When it is set, every client must send exactly this user name, and `password`. */
  readonly user: string | undefined
  readonly password: string | undefined
  /** Topic Filters that no client may subscribe to, nor to a filter that they cover. */
  readonly denySubscribe: readonly string[]
}

/** Gives every client the same permit. */
export class BarePolicy implements Policy {
  readonly authenticationMethod = undefined
  readonly #options: BarePolicyOptions
  readonly #permit: Permit

  constructor(options: BarePolicyOptions) {
    this.#options = options
    this.#permit = {
      tenant: '',
      identity: '',
      ground: '',
      expiresAtMs: undefined,
      maximumMessagesPerSecond: Infinity,
      mayPublish: () => ALLOWED,
      maySubscribe: (topicFilter) => this.#maySubscribe(topicFilter),
      mayReceive: undefined,
      watch: () => {},
      unwatch: () => {},
    }
  }

  async authenticate({ userName, password, authenticationMethod }: Credentials): Promise<Admission> {
    if (authenticationMethod !== undefined) {
      return refuse(
        ReasonCodes.badAuthenticationMethod,
        'authentication_method',
        'no Authentication Method is supported',
      )
    }
    const { user, password: expected } = this.#options
    const matches = user === undefined || (isSame(userName ?? '', user) && isSame(password ?? '', expected ?? ''))
    if (!matches) return refuse(ReasonCodes.badUserNameOrPassword, 'bad_credentials', 'wrong user name or password')
    return { allowed: true, permit: this.#permit }
  }

  async permitOn(): Promise<Permit> {
    return this.#permit
  }

  async reauthenticate(): Promise<Admission> {
    return refuse(ReasonCodes.badAuthenticationMethod, 'authentication_method', 'no Authentication Method is supported')
  }

  #maySubscribe(topicFilter: string): Decision {
    const isDenied = this.#options.denySubscribe.some((denied) => covers(denied, topicFilter))
    return isDenied ? refuse(ReasonCodes.notAuthorized, 'denied', 'denied by --deny-subscribe') : ALLOWED
  }
}

/** Compares digests, so that the time taken reveals neither the length nor the content. */
function isSame(given: string | Buffer, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest())
}

function refuse(reasonCode: number, code: string, reason: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}
