/** The notices that a Session gets for itself alone, on topics that begin with `$notice/`. */
import { Type } from 'typebox'
import { time } from './schema-words.ts'

/** The payload on `$notice/missed`. */
export const MissedNotice = Type.Object(
  {
    missedAtMost: Type.Integer({
      description: 'So many messages that could have been for this Session are gone, at most.',
      minimum: 0,
    }),
    time: time('When it was noticed.'),
  },
  {
    title: 'MissedNotice',
    description: 'The Session has missed messages, because it was away for longer than they are kept.',
  },
)

/** The payload on `$notice/token-expires`. */
export const TokenExpiresNotice = Type.Object(
  {
    expiresAt: time('When the token ends, and the connection with it.'),
    secondsLeft: Type.Integer({ description: 'Whole seconds until then, when the notice was made.', minimum: 0 }),
  },
  {
    title: 'TokenExpiresNotice',
    description: 'The token of the connection ends soon. Renew it by AUTH, or connect again with a new token.',
  },
)
