import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TopicTemplate } from './topic-template.ts'

const ALL = ['applicationId', 'devEui', 'event'] as const
const EUI = '0101010101010101'

function template(text: string, wanted: Parameters<typeof TopicTemplate.parse>[1] = ALL): TopicTemplate {
  const parsed = TopicTemplate.parse(text, wanted)
  assert.ok(parsed instanceof TopicTemplate)
  return parsed
}

describe('a topic template', () => {
  for (const text of [
    'application/{{application_id}}/device/{{dev_eui}}/event/{{event}}',
    'application/{{ .ApplicationID }}/device/{{ .DevEUI }}/event/{{ .EventType }}',
    'site-1/{{event}}/{{dev_eui}}/of-{{application_id}}',
  ]) {
    it(`reads what it writes: ${text}`, () => {
      const values = { applicationId: '5', devEui: EUI, event: 'up' }
      const made = template(text)
      assert.deepEqual(made.read(made.write(values)), values)
      assert.equal(made.topicFilter, text.replaceAll(/[^/]*\{\{[^}]*\}\}/g, '+'))
    })
  }

  it('gives the DevEUI in lower case', () => {
    const made = template('{{application_id}}/{{dev_eui}}/{{event}}')
    assert.equal(made.read('5/ABCDEFABCDEFABCD/up')?.devEui, 'abcdefabcdefabcd')
  })

  for (const topic of [
    `application/5/device/${EUI}/event/up/more`,
    `application/5/device/${EUI}0/event/up`,
    `application/5/6/device/${EUI}/event/up`,
    `application/+/device/${EUI}/event/up`,
    `application/5/device/${EUI}/event/up\n`,
    `application/5/device/${EUI}/event/`,
    `x/application/5/device/${EUI}/event/up`,
  ]) {
    it(`reads nothing from ${JSON.stringify(topic)}`, () => {
      const made = template('application/{{application_id}}/device/{{dev_eui}}/event/{{event}}')
      assert.equal(made.read(topic), undefined)
    })
  }

  for (const [text, fault] of [
    ['application/+/device/{{dev_eui}}/event/{{event}}', /no wildcards/],
    ['application/{{application_id}}/device/{{dev_eui}}/event/#', /no wildcards/],
    ['application/{{application_id}}/event/{{event}}', /each of {{application_id}}, {{dev_eui}}, {{event}} once/],
    ['{{application_id}}/{{application_id}}/{{dev_eui}}/{{event}}', /once/],
    ['{{application_id}}/{{dev_eui}}/{{event}}/{{gateway}}', /once/],
    ['{{application_id}}/{{dev_eui}}/{{event}}/{{', /no other placeholders/],
  ] as const) {
    it(`is none: ${text}`, () => {
      const parsed = TopicTemplate.parse(text, ALL)
      assert.ok(typeof parsed === 'string')
      assert.match(parsed, fault)
    })
  }

  it('of commands has no kind of event', () => {
    const made = template('a/{{application_id}}/{{dev_eui}}/down', ['applicationId', 'devEui'])
    assert.equal(made.write({ applicationId: '5', devEui: EUI }), `a/5/${EUI}/down`)
  })
})
