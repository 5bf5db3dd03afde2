import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serversOf } from './server-states.ts'

const peer = (name: string, lag: number, seen: { readonly current?: boolean; readonly offline?: boolean } = {}) => ({
  name,
  current: true,
  offline: false,
  active: 1,
  lag,
  ...seen,
})

test('the servers are counted over all streams, in the order of their names', () => {
  const servers = serversOf([
    { cluster: { leader: 'n2', replicas: [peer('n1', 3), peer('n3', 0, { offline: true, current: false })] } },
    { cluster: { leader: 'n1', replicas: [peer('n2', 20_000), peer('n3', 4, { offline: true, current: false })] } },
    { cluster: { leader: '', replicas: [peer('n1', 0)] } },
    {},
  ])
  assert.deepEqual(servers, [
    { name: 'n1', leads: 1, copies: 3, lag: 3, isBehind: false, isOffline: false },
    { name: 'n2', leads: 1, copies: 2, lag: 20_000, isBehind: true, isOffline: false },
    { name: 'n3', leads: 0, copies: 2, lag: 4, isBehind: true, isOffline: true },
  ])
})
