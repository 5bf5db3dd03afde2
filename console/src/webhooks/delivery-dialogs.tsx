/** The test of a webhook, and its newest requests. */
import { Alert, Badge, Button, Group, Loader, ScrollArea, Stack, Table, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { ReactElement } from 'react'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { Dialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { When } from '../shell/when.tsx'
import { colorOf, outcomeText, webhooksPath } from './webhook.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** Sends a sample event when it opens, and shows the answer. */
export function TestDialog({ state }: { readonly state: DialogView<Webhook> }): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={`Test of ${subject?.name ?? ''}`} state={state}>
      {subject === undefined ? null : <Test webhook={subject} onClose={close} />}
    </Dialog>
  )
}

function Test({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const path = `${webhooksPath(organization.id)}/${webhook.id}/test`
  const { mutate, ...test } = useMutation({ mutationFn: () => request<Delivery>('POST', path) })
  useEffect(() => mutate(), [mutate])
  return (
    <Stack>
      {test.isPending ? (
        <Group>
          <Loader size="sm" />
          <Text size="sm">A sample event is on its way to {webhook.url}.</Text>
        </Group>
      ) : null}
      <Failure error={test.error} />
      {test.data === undefined ? null : (
        <>
          <Alert
            variant="light"
            color={test.data.code === '' ? 'field' : 'red'}
            icon={<Icon name={test.data.code === '' ? 'check' : 'alert'} />}
            role="status"
          >
            {outcomeText(test.data)}
          </Alert>
          {test.data.answer === '' ? null : (
            <CodeBlock title="Beginning of the answer" text={test.data.answer} maxHeight={200} />
          )}
        </>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={() => mutate()} disabled={test.isPending}>
          Send again
        </Button>
        <Button onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  )
}

/** The newest requests of a webhook. */
export function DeliveriesDialog({ state }: { readonly state: DialogView<Webhook> }): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={`Deliveries of ${subject?.name ?? ''}`} state={state}>
      {subject === undefined ? null : <Deliveries webhook={subject} onClose={close} />}
    </Dialog>
  )
}

function Deliveries({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const path = `${webhooksPath(organization.id)}/${webhook.id}/deliveries`
  const list = useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => request<Listed<Delivery>>('GET', path, { query: { limit: 100 }, signal }),
    refetchInterval: 5_000,
  })
  const deliveries = list.data?.result ?? []
  return (
    <Stack>
      <Failure error={list.error} onRetry={() => void list.refetch()} />
      {list.data !== undefined && deliveries.length === 0 ? (
        <Text size="sm">No request was made since the service started.</Text>
      ) : null}
      {deliveries.length === 0 ? null : (
        <ScrollArea.Autosize
          mah={420}
          type="auto"
          viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Deliveries' }}
        >
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Outcome</Table.Th>
                <Table.Th>Event</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {deliveries.map((delivery) => (
                <Row key={`${delivery.time} ${delivery.webhookId} ${delivery.tries}`} delivery={delivery} />
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  )
}

function Row({ delivery }: { readonly delivery: Delivery }): ReactElement {
  const { time, outcome, status, durationMs, reason, webhookId, devEui, kind, tries, command } = delivery
  return (
    <Table.Tr>
      <Table.Td>
        <When at={time} />
      </Table.Td>
      <Table.Td>
        <Badge variant="light" tt="none" color={colorOf(delivery)} autoContrast>
          {outcome}
        </Badge>
        <Text size="xs" mt={4} className="breakable">
          {status === null ? '' : `status ${status}, `}
          {durationMs} ms{tries > 1 ? `, try ${tries}` : ''}
          {reason === '' ? '' : `: ${reason}`}
          {command === null ? '' : `; command ${command.id}: ${command.outcome}`}
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="xs" className="breakable">
          {kind} {devEui} {webhookId}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}
