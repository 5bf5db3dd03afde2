/** The living nodes of the deployment, as metrics. */
import { Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Nodes } from '../nodes.ts'

/** Registers the gauge of the nodes that this one knows to be alive, by whether they are ready. */
export function registerNodes(registry: MetricsRegistry, nodes: Pick<Nodes, 'living'>): void {
  registry.registerMetric(
    new Gauge({
      name: 'fieldgate_nodes',
      help: 'The living nodes of the deployment.',
      labelNames: ['state'],
      registers: [],
      collect() {
        const living = nodes.living()
        const ready = living.filter(({ isReady }) => isReady).length
        this.set({ state: 'ready' }, ready)
        this.set({ state: 'not_ready' }, living.length - ready)
      },
    }),
  )
}
