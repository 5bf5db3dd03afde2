/** The codec of an application: chosen, written and tried before it is saved. */
import { Button, Group, Select, Skeleton } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useCodec } from '../api/codecs.ts'
import { useApplications } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { CodecEditor } from './codec-editor.tsx'

/** The page. The application's id is in the address, so that other pages can link to its codec. */
export function CodecsPage(): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [searchParams, setSearchParams] = useSearchParams()
  const listed = applications.data?.result ?? []
  const asked = searchParams.get('application')
  const applicationId = listed.find(({ id }) => id === asked)?.id ?? listed[0]?.id ?? null
  const codec = useCodec(applicationId)
  return (
    <Page
      title="Codecs"
      lead="A codec turns the bytes of an application’s devices into named values, and objects of commands into bytes."
      aside={
        listed.length === 0 ? undefined : (
          <Select
            label="Application"
            w={{ base: '100%', xs: 300 }}
            data={listed.map(({ id, name }) => ({ value: id, label: name }))}
            value={applicationId}
            onChange={(id) => setSearchParams(id === null ? {} : { application: id })}
            allowDeselect={false}
            searchable
          />
        )
      }
    >
      <Failure error={applications.error ?? codec.error} onRetry={() => void codec.refetch()} />
      {applications.data !== undefined && listed.length === 0 ? (
        <Panel>
          <Blank
            icon="code"
            title="No application yet"
            text="A codec belongs to an application. Create the first one, then choose its codec here."
            action={
              <Group>
                <Button component={Link} href="/applications">
                  To the applications
                </Button>
              </Group>
            }
          />
        </Panel>
      ) : null}
      {codec.isLoading ? <Skeleton h={420} /> : null}
      {applicationId === null || codec.data === undefined ? null : (
        <CodecEditor key={applicationId} applicationId={applicationId} saved={codec.data} />
      )}
    </Page>
  )
}
