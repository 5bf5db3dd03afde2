/** The budget of the process in memory, and the memory that it holds. */
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { BrokerOptions } from '../broker/broker.ts'
import { giveBackFreeMemory } from '../free-memory.ts'

/** The part of the machine's or container's memory that the process may hold. */
const SHARE = 0.75
/**
 * The part of the largest JavaScript heap that may be in use. At its end the process would die,
 * however much memory the machine has.
 */
const HEAP_SHARE = 0.8

/** `maximumBytes` is the setting; 0: a share of the memory that there is. */
export function memoryBudget(maximumBytes: number): NonNullable<BrokerOptions['memory']> {
  const budget = maximumBytes > 0 ? maximumBytes : Math.floor(availableBytes() * SHARE)
  // `heap_size_limit` is no bound on Bun: it is ten times the memory that was used so far.
  const { used_heap_size: used, total_available_size: free } = getHeapStatistics()
  const heapLimit = used + free
  return {
    maximumBytes: budget,
    residentBytes: () => {
      // `getHeapStatistics` walks through the whole heap on Bun.
      const heapShare = process.memoryUsage().heapUsed / (heapLimit * HEAP_SHARE)
      return Math.max(process.memoryUsage.rss(), Math.floor(heapShare * budget))
    },
    giveBack: giveBackFreeMemory,
  }
}

/** The memory of the container, or of the machine where it has no lower bound. */
function availableBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
