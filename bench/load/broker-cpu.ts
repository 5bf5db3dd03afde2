/** The broker's CPU time over a window. */
import { cpuNanoseconds, mainThreadCpuNanoseconds } from '../process-accounting.ts'
import type { BrokerCpu } from './codec-job.ts'

/** Starts a window; the returned function gives its cost so far. */
export function startBrokerCpu(pid: number): () => BrokerCpu {
  const atMs = performance.now()
  const cpuNs = cpuNanoseconds(pid)
  const mainThreadCpuNs = mainThreadCpuNanoseconds(pid)
  return () => ({
    seconds: (performance.now() - atMs) / 1000,
    cpuNs: cpuNanoseconds(pid) - cpuNs,
    mainThreadCpuNs: mainThreadCpuNanoseconds(pid) - mainThreadCpuNs,
  })
}
