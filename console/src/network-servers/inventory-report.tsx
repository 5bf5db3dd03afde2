/** The report of an import of an inventory, or of a look. */
import { Alert, ScrollArea, Stack, Table, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { useApplications } from '../api/directory.ts'
import type { ImportedApplication, ImportedThing, InventoryReport } from '../api/inventories.ts'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'

/** Rows that are shown; the report has a thousand at most. */
const SHOWN = 200

/** The report. */
export function InventoryReportView({ report }: { readonly report: InventoryReport }): ReactElement {
  const { applications, deviceProfiles, devices } = report
  const { organization } = useOrganization()
  const here = useApplications(organization.id)
  const nameOf = new Map(here.data?.result.map(({ id, name }) => [id, name]))
  const applicationRow = (one: ImportedApplication) => {
    const row = rowOf('Application', one.networkServerApplicationID, one, report)
    const target = nameOf.get(one.applicationID) ?? one.applicationID
    return one.outcome === 'unchanged' ? { ...row, outcome: `goes into ${target}` } : row
  }
  const rows = [
    ...applications.filter((one) => !isLeftOut(one)).map(applicationRow),
    ...deviceProfiles.map((one) => rowOf('Profile', one.networkServerProfileID, one, report)),
    ...devices.map((one) => rowOf(one.devEUI, '', one, report, one.members)),
    // A network server may have a thousand of them.
    ...applications.filter(isLeftOut).map(applicationRow),
  ]
  const hidden = rows.length - SHOWN
  return (
    <Stack gap="xs">
      <Alert
        variant="light"
        color={report.refusedCount > 0 || missingApplications(report) > 0 ? 'yellow' : 'green'}
        icon={<Icon name="server" />}
        role="status"
      >
        {sentenceOfReport(report)}
      </Alert>
      <ScrollArea.Autosize
        mah={260}
        type="auto"
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Report' }}
      >
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Kind</Table.Th>
              <Table.Th>Name</Table.Th>
              <Table.Th>Outcome</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.slice(0, SHOWN).map(({ key, what, name, outcome }) => (
              <Table.Tr key={key}>
                <Table.Td>{what}</Table.Td>
                <Table.Td className="breakable">{name}</Table.Td>
                <Table.Td>{outcome}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      {hidden > 0 ? (
        <Text size="sm" c="dimmed">
          {hidden.toLocaleString('en')} more are not shown.
        </Text>
      ) : null}
    </Stack>
  )
}

function isLeftOut({ outcome }: ImportedThing): boolean {
  return outcome === 'leftOut'
}

/** A row of the table. `id` tells things of one kind apart. */
function rowOf(
  what: string,
  id: string,
  { name, outcome, message }: ImportedThing,
  { dryRun }: InventoryReport,
  members: readonly string[] = [],
) {
  const words = [wordsOf(outcome, dryRun), members.join(', '), message].filter((text) => text !== '')
  return { key: `${what} ${id}`, what, name, outcome: words.join(': ') }
}

/** The counts in a sentence, and a second one where chosen applications are missing. */
export function sentenceOfReport(report: InventoryReport): string {
  const { createdCount, updatedCount, unchangedCount, refusedCount, missingCount, removedCount, dryRun } = report
  const devices = createdCount === 1 ? '1 device' : `${createdCount.toLocaleString('en')} devices`
  const parts = [
    `${devices} ${dryRun ? 'would be ' : ''}created`,
    `${updatedCount.toLocaleString('en')} changed`,
    `${unchangedCount.toLocaleString('en')} as they are`,
    `${refusedCount.toLocaleString('en')} refused`,
    ...(missingCount === 0 ? [] : [`${missingCount.toLocaleString('en')} missing there`]),
    ...(removedCount === 0 ? [] : [`${removedCount.toLocaleString('en')} removed`]),
  ]
  const applications = missingApplications(report)
  const sentence = `${parts.join(', ')}.`
  if (applications === 0) return sentence
  if (applications === 1) return `${sentence} 1 chosen application is missing there.`
  return `${sentence} ${applications.toLocaleString('en')} chosen applications are missing there.`
}

/** The number of the chosen applications that the network server does not have. */
function missingApplications({ applications }: InventoryReport): number {
  return applications.filter(({ outcome }) => outcome === 'missing').length
}

function wordsOf(outcome: ImportedThing['outcome'], isLook: boolean): string {
  const words = {
    created: isLook ? 'would be created' : 'created',
    updated: isLook ? 'would change' : 'changed',
    unchanged: 'stays as it is',
    refused: 'refused',
    leftOut: 'left out',
    missing: 'missing there',
  }
  return words[outcome]
}
