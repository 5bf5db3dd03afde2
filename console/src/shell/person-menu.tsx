import { ActionIcon, Menu, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { useProfile } from '../api/account.ts'
import { sentenceOf } from '../api/sentence.ts'
import { signOut, signOutEverywhere } from '../session/sign-in.ts'
import { Icon } from './icons.tsx'
import { attemptToLeave } from './unsaved-changes.tsx'

/** The menu of the person: account, colours, signing out. */
export function PersonMenu(): ReactElement {
  const { data } = useProfile()
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <Menu position="bottom-end" shadow="md" width={230}>
      <Menu.Target>
        <ActionIcon variant="default" size={36} radius="xl" aria-label="You">
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" c="var(--mantine-color-text)" fw={600} truncate>
            {data?.user.username}
          </Text>
          {data?.user.isAdmin === true ? 'Admin of the deployment' : null}
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item component={Link} href="/account" leftSection={<Icon name="shield" />}>
          Account
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name={scheme === 'dark' ? 'sun' : 'moon'} />}
          onClick={() => setColorScheme(other)}
          closeMenuOnClick={false}
        >
          {other === 'dark' ? 'Dark colours' : 'Light colours'}
        </Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank" rel="noopener" leftSection={<Icon name="list" />}>
          Documentation
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="signOut" />} onClick={() => leave(signOut)}>
          Sign out
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="signOut" />} onClick={() => leave(signOutEverywhere)}>
          Sign out everywhere
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function leave(how: () => Promise<void>): void {
  attemptToLeave(() => {
    how().catch((error: unknown) => {
      notifications.show({ color: 'red', title: 'You are still signed in', message: sentenceOf(error) })
    })
  })
}
