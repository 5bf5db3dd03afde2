/** One log line and one measurement per request. */
import type { HttpApp } from '../api/http-app.ts'
import { Histogram } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'

/**
 * Logs `request.completed`, or `request.aborted` when the client went away, with the route's
 * pattern (a raw URL may carry what people paste into it). Observes the duration by method, route
 * and status where a metrics registry is given.
 */
export function logRequests(app: HttpApp, metrics: MetricsRegistry | undefined): void {
  const duration =
    metrics === undefined
      ? undefined
      : new Histogram({
          name: 'fieldgate_http_request_duration_seconds',
          help: 'Time from the arrival of a request to the end of its answer.',
          labelNames: ['method', 'route', 'status'],
          buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
          registers: [metrics],
        })
  app.addHook('onResponse', async (request, reply) => {
    const { statusCode } = reply
    // An unknown path has no pattern; its own text would make an unbounded label.
    const route = request.routeOptions.url ?? 'unknown'
    const durationMs = Math.round(reply.elapsedTime * 1000) / 1000
    // Methods come out of a fixed list of the HTTP parser, so the labels are bounded.
    duration?.observe({ method: request.method, route, status: statusCode }, durationMs / 1000)
    // 501 is for a method that nobody supports: the client's fault.
    const isFault = statusCode >= 500 && statusCode !== 501
    // A foreign broker asks for each message. `broker_hook.refused` tells of its refusals.
    const isQuestion = request.caller?.kind === 'foreignBroker'
    const level = isFault ? 'error' : isQuestion ? 'debug' : statusCode >= 400 ? 'warn' : 'info'
    request.log[level]({ method: request.method, route, status: statusCode, durationMs }, 'request.completed')
  })
  // Nothing is answered to a client that went away, so the hook above does not run.
  app.addHook('onRequestAbort', async (request) => {
    request.log.warn({ method: request.method, route: request.routeOptions.url ?? 'unknown' }, 'request.aborted')
  })
}
