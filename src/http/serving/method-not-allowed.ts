/**
 * Known paths asked with the wrong method: 405 with `Allow` (RFC 9110 §15.5.6), in the one error
 * body.
 */
import type { RouteOptions } from 'fastify'
import { RequestRefused } from '../api/errors.ts'
import type { HttpApp } from '../api/http-app.ts'

/**
 * Watches the routes as they are added; call the function that it returns after the last one.
 * Refuses before a body is read and before a credential is looked at, for which methods a path has
 * is public (the OpenAPI document).
 */
export function collectMethods(app: HttpApp): () => void {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', (route: RouteOptions) => {
    const methods = methodsOf.get(route.url) ?? new Set<string>()
    for (const method of [route.method].flat()) methods.add(method)
    methodsOf.set(route.url, methods)
  })
  return () => {
    for (const [url, allowed] of methodsOf) {
      const others = app.supportedMethods.filter((method) => !allowed.has(method))
      const allow = [...allowed].toSorted().join(', ')
      app.route({
        method: others,
        url,
        schema: { hide: true },
        config: { refusesMethod: true },
        onRequest: async (request) => {
          const message = `${request.method} is not allowed here; allowed: ${allow}`
          throw new RequestRefused('unimplemented', message, 'method_not_allowed', {
            statusCode: 405,
            headers: { allow },
          })
        },
        handler: async () => undefined,
      })
    }
  }
}
