/** The rules of a device profile about FPorts. */
import type { FPortRule } from './device-profile.ts'

/**
 * Tells whether uplinks on an FPort are decoded; undefined where all are. A rule counts for its
 * own FPort. The other FPorts are decoded, unless a rule has the use DECODE: then only the FPorts
 * with that use are.
 */
export function decodesPortOf(rules: readonly FPortRule[]): ((fPort: number) => boolean) | undefined {
  if (rules.length === 0) return undefined
  const uses = new Map(rules.map(({ fPort, use }) => [fPort, use === 'DECODE']))
  const decodesOthers = !rules.some(({ use }) => use === 'DECODE')
  return (fPort) => uses.get(fPort) ?? decodesOthers
}
