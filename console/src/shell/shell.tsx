/** The frame of every page: navigation, the organization, and the person. */
import { AppShell, Box, Burger, Center, Group, Loader, NavLink, ScrollArea, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Suspense } from 'react'
import type { ReactElement } from 'react'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter'
import type { AroundNavHandler } from 'wouter'
import { FIRST_PAGE, isRole, PAGES } from '../pages.ts'
import type { Role, Standing } from '../pages.ts'
import { Blank } from './blank.tsx'
import { Page as PageFrame } from './page.tsx'
import { PageBoundary } from './page-boundary.tsx'
import { Icon, Logo } from './icons.tsx'
import { useOrganization } from './organization.tsx'
import { OrganizationSelect } from './organization-select.tsx'
import { PersonMenu } from './person-menu.tsx'
import { attemptToLeave, LeaveQuestion } from './unsaved-changes.tsx'
import classes from './shell.module.css'

const askBeforeLeaving: AroundNavHandler = (navigate, to, options) => attemptToLeave(() => navigate(to, options))

/** The console of a person who is signed in and has an organization. */
export function Shell(): ReactElement {
  const [isOpen, { toggle, close }] = useDisclosure()
  const { organization } = useOrganization()
  return (
    <Router aroundNav={askBeforeLeaving}>
      <AppShell
        header={{ height: 60 }}
        navbar={{ width: 224, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
        padding={{ base: 'md', sm: 'xl' }}
      >
        <a href="#content" className={classes['skip']}>
          Skip to the content
        </a>
        <AppShell.Header className={classes['header']}>
          <Group h="100%" px={{ base: 'md', sm: 'lg' }} justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
              <Link href={FIRST_PAGE} className={classes['brand']} aria-label="Fieldgate, to the first page">
                <Logo />
                <Text fw={650} fz="lg" visibleFrom="sm">
                  Fieldgate
                </Text>
              </Link>
            </Group>
            <Group gap="xs" wrap="nowrap" miw={0}>
              <OrganizationSelect />
              <PersonMenu />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="sm" className={classes['navbar']}>
          <ScrollArea>
            <Navigation onNavigate={close} />
          </ScrollArea>
        </AppShell.Navbar>
        <AppShell.Main id="content" tabIndex={-1} className={classes['main']}>
          <Box maw={1360} mx="auto">
            {/* Another organization is another page: nothing of the previous one may stay in it. */}
            <Pages key={organization.id} />
          </Box>
        </AppShell.Main>
      </AppShell>
      <LeaveQuestion />
    </Router>
  )
}

function Navigation({ onNavigate }: { readonly onNavigate: () => void }): ReactElement {
  const [location] = useLocation()
  const standing: Standing = useOrganization()
  const shown = PAGES.filter(({ navigation, needs = navigation?.needs }) => {
    return navigation !== undefined && (needs === undefined || isRole(standing, needs))
  })
  const administration = shown.filter(({ navigation }) => navigation?.group === 'administration')
  const entry = ({ path, title, navigation }: (typeof PAGES)[number]): ReactElement => {
    const isActive = location === path || location.startsWith(`${path}/`)
    return (
      <NavLink
        key={path}
        component={Link}
        href={path}
        label={title}
        leftSection={navigation === undefined ? undefined : <Icon name={navigation.icon} />}
        active={isActive}
        aria-current={isActive ? 'page' : undefined}
        onClick={onNavigate}
        className={classes['link']}
      />
    )
  }
  return (
    <nav aria-label="Pages">
      <Stack gap={2}>
        {shown.filter(({ navigation }) => navigation?.group === 'work').map(entry)}
        {administration.length === 0 ? null : (
          <Text size="xs" fw={600} c="dimmed" tt="uppercase" lts={0.4} px="sm" pt="md" pb={4}>
            Administration
          </Text>
        )}
        {administration.map(entry)}
      </Stack>
    </nav>
  )
}

function Pages(): ReactElement {
  const [location] = useLocation()
  const standing: Standing = useOrganization()
  return (
    <PageBoundary path={location}>
      <Suspense
        fallback={
          <Center mih={320}>
            <Loader type="dots" aria-label="Loading" />
          </Center>
        }
      >
        <Switch>
          {PAGES.map(({ path, title, Page, needs }) => (
            <Route key={path} path={path}>
              {needs === undefined || isRole(standing, needs) ? <Page /> : <NotForYou title={title} needs={needs} />}
            </Route>
          ))}
          <Route path="/">
            <Redirect to={FIRST_PAGE} replace />
          </Route>
          <Route>
            <PageFrame title="There is no such page">
              <Blank icon="search" title="There is no page at this address" text="Choose a page from the navigation." />
            </PageFrame>
          </Route>
        </Switch>
      </Suspense>
    </PageBoundary>
  )
}

const ASK: Readonly<Record<Role, string>> = {
  globalAdmin: 'This page is for global admins of the deployment only.',
  organizationAdmin: 'This page is for admins of the organization. Ask one of them if you need it.',
  deviceAdmin: 'This page is for device admins of the organization. Ask an admin of the organization if you need it.',
}

/** Says at once, in one sentence, that the person may not open the page of the address. */
function NotForYou({ title, needs }: { readonly title: string; readonly needs: Role }): ReactElement {
  return (
    <PageFrame title={title}>
      <Blank icon="shield" title="You may not open this page" text={ASK[needs]} />
    </PageFrame>
  )
}
