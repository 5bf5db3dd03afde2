import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RegistrationByRule } from './registration-by-rule.ts'
import type { Rule, RuledDevice } from './registration-by-rule.ts'
import { UnknownDevices } from './unknown-devices.ts'

const RULE: Rule = {
  organizationId: '1',
  applicationId: '5',
  isOfDeployment: false,
  networkServer: '',
  networkServerApplicationId: '',
  networkServerApplicationName: '',
  networkServerProfileName: '',
  devEuiPrefix: '',
  nameTemplate: '',
  deviceProfileId: '',
  deviceProfileName: '',
  tags: {},
}
const PAYLOAD = Buffer.from(
  JSON.stringify({
    deviceInfo: { deviceName: 'Meter 7', applicationName: 'Their meters', deviceProfileName: 'Water' },
  }),
)
const METER = 'aa00000000000007'

function openRules(rules: Rule[]) {
  const registered: RuledDevice[] = []
  const answers = { ok: true }
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const waiting: UnknownDevices = new UnknownDevices({
    process: 'one',
    state: { write: async () => {}, load: async function* () {} },
    publisher: { publish: async () => {} },
    places: { device: () => undefined },
    limits: { keptMs: 60_000, events: 100_000, bytes: 100_000_000 },
    onKept: (owner, devEui) => byRule.kept(owner, devEui),
    clock: { now: () => 0 },
    log,
  })
  const byRule = new RegistrationByRule({
    waiting,
    rules: async () => rules,
    register: async (devices) => {
      registered.push(...devices)
      return devices.map(() => ({ ok: answers.ok }))
    },
    log,
  })
  return {
    registered,
    answers,
    byRule,
    keep: async (organizationId: string | null, devEui = METER): Promise<void> => {
      await waiting.keep(
        { networkServer: 'http', organizationId },
        { applicationId: '', devEui, kind: 'up', payload: PAYLOAD },
      )
      await nextTurn()
    },
  }
}

test('the first rule that means the device registers it', async () => {
  const { registered, keep } = openRules([
    { ...RULE, devEuiPrefix: 'bb' },
    { ...RULE, networkServer: 'credential:1' },
    { ...RULE, networkServerProfileName: 'Heat' },
    { ...RULE, networkServerApplicationName: 'Other' },
    { ...RULE, networkServerApplicationName: 'Their meters', nameTemplate: 'North {deviceName}', tags: { a: 'b' } },
    { ...RULE, applicationId: '6' },
  ])
  await keep('1')
  const names = { name: 'North Meter 7', deviceProfileId: '', deviceProfileName: 'Water' }
  assert.deepEqual(registered, [{ devEui: METER, applicationId: '5', ...names, tags: { a: 'b' } }])
})

test('a rule is for its own organization, or for the whole deployment', async () => {
  const { registered, keep } = openRules([RULE, { ...RULE, isOfDeployment: true, applicationId: '9' }])
  await keep('2')
  assert.deepEqual(registered, [])
  await keep(null)
  assert.deepEqual(
    registered.map(({ applicationId }) => applicationId),
    ['9'],
  )
})

test('a device that the registry refuses is tried again when the rules change, and not with each event', async () => {
  const { registered, answers, byRule, keep } = openRules([RULE])
  answers.ok = false
  await keep('1')
  await keep('1')
  assert.equal(registered.length, 1)
  byRule.rulesChanged()
  await nextTurn()
  assert.equal(registered.length, 2)
})

test('a rule that is made later means the devices that wait', async () => {
  const rules: Rule[] = []
  const { registered, byRule, keep } = openRules(rules)
  for (let number = 0; number < 1_200; number += 1) await keep('1', `aa${String(number).padStart(14, '0')}`)
  assert.equal(registered.length, 0)
  rules.push(RULE)
  byRule.rulesChanged()
  for (let turn = 0; turn < 10; turn += 1) await nextTurn()
  assert.equal(registered.length, 1_200)
})
