"""Streams of events from a real service: what is handed over, once, and how a stream ends."""

from __future__ import annotations

import asyncio
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import fieldgate
from world import FILE, World, take

EARLY = {"start": "earliest"}


@unittest.skipIf(FILE is None, "FIELDGATE_TEST_WORLD names no service")
class StreamTest(unittest.IsolatedAsyncioTestCase):
    """Each test has an application, a device and a session of its own."""

    world: World

    @classmethod
    def setUpClass(cls) -> None:
        cls.world = World()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.world.close()

    async def asyncSetUp(self) -> None:
        self.application = await self.world.new_application()
        self.device = await self.world.new_device(self.application)
        self.session = uuid4().hex
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = fieldgate.SqliteStore(Path(folder.name, "places.sqlite"))
        self.addCleanup(self.store.close)

    def publish(self, *counters: int, qos: int = 1) -> None:
        """Uplinks of the device, with the counters from the first to the last."""
        self.world.uplinks(self.application, self.device, range(counters[0], counters[-1] + 1), qos)

    def events(self, fg: fieldgate.Fieldgate, **options: object) -> fieldgate.EventStream:
        """The stream of the test's application."""
        given = {"application": self.application, "session": self.session, "store": self.store, **EARLY, **options}
        return fg.events(**given)  # type: ignore[arg-type]

    async def test_an_event_that_was_not_handled_comes_again_and_no_other(self) -> None:
        self.publish(1, 3)
        async with self.world.connect() as fg:
            seen = []
            async for event in self.events(fg):
                assert event.kind == "up"
                seen.append(event.f_cnt)
                if event.f_cnt == 2:
                    break  # The second event is in the hands of the program, and not handled.
        async with self.world.connect() as fg:
            self.assertEqual(seen, [1, 2])
            self.assertEqual(await take(self.events(fg), 2), [2, 3])
        async with self.world.connect() as fg:
            self.publish(4, 4)
            self.assertEqual(await take(self.events(fg), 1), [4])

    async def test_without_a_place_the_session_of_the_broker_goes_on(self) -> None:
        async with self.world.connect() as fg:
            stream = self.events(fg, store=fieldgate.MemoryStore())
            self.publish(1, 1)
            self.assertEqual(await take(stream, 1), [1])
        self.publish(2, 3)
        async with self.world.connect() as fg:
            # `start` counts for a new session alone.
            self.assertEqual(await take(self.events(fg, store=fieldgate.MemoryStore()), 2), [2, 3])

    async def test_a_new_session_begins_at_the_call_of_events(self) -> None:
        self.publish(1, 1)
        await asyncio.sleep(1.1)  # The time of an HTTP answer has whole seconds.
        async with self.world.connect() as fg:
            stream = self.events(fg, start="now")
            self.publish(2, 2)
            self.assertEqual(await take(stream, 1), [2])

    async def test_events_of_qos_0_outlive_connections_that_end(self) -> None:
        async with self.world.connect() as fg:
            stream = self.events(fg)
            self.publish(0, 19, qos=0)
            self.assertEqual(await take(stream, 5), list(range(5)))
            self.assertEqual(await self.world.end_connections(), 1)
            self.publish(20, 39, qos=0)
            self.assertEqual(await take(stream, 35), list(range(5, 40)))

    async def test_a_program_that_is_far_behind_loses_nothing_of_qos_0(self) -> None:
        with patch("fieldgate._feed.MAXIMUM_BUFFERED", 20):
            async with self.world.connect() as fg:
                stream = self.events(fg)
                self.publish(0, 0, qos=0)
                self.assertEqual(await take(stream, 1), [0])
                self.publish(1, 150, qos=0)
                self.assertEqual(await take(stream, 150), list(range(1, 151)))

    async def test_the_token_is_renewed_on_the_live_connection(self) -> None:
        with self.assertLogs("fieldgate", "INFO") as logs:
            async with self.world.connect(token_seconds=4) as fg:
                stream = self.events(fg)
                for f_cnt in range(7):
                    self.publish(f_cnt, f_cnt)
                    self.assertEqual(await take(stream, 1), [f_cnt])
                    await asyncio.sleep(0.5)
        self.assertGreaterEqual(sum("token.renewed" in line for line in logs.output), 1)
        self.assertEqual(sum("connection.opened" in line for line in logs.output), 1)

    async def test_revoked_tokens_are_replaced(self) -> None:
        async with self.world.connect() as fg:
            stream = self.events(fg)
            self.publish(1, 1)
            self.assertEqual(await take(stream, 1), [1])
            path = f"/api/broker-tokens?limit=100&organizationID={self.world.organization_id}"
            for token in (await self.world.admin("GET", path))["result"]:
                await self.world.admin("DELETE", f"/api/broker-tokens/{token['id']}")
            self.publish(2, 2)
            self.assertEqual(await take(stream, 1), [2])

    async def test_a_user_who_is_removed_ends_the_stream_with_a_typed_error(self) -> None:
        user_id, name = await self.world.new_user()
        async with self.world.connect(username=name) as fg:
            stream = self.events(fg)
            self.publish(1, 1)
            self.assertEqual(await take(stream, 1), [1])
            await self.world.admin("DELETE", f"/api/users/{user_id}")
            with self.assertRaises(fieldgate.AuthenticationError):
                await take(stream, 1)

    async def test_a_wrong_password_and_an_unknown_application_are_typed_errors(self) -> None:
        with self.assertRaises(fieldgate.AuthenticationError) as refused:
            await self.world.connect(password="wrong").__aenter__()
        self.assertEqual(refused.exception.code, "login_failed")
        async with self.world.connect() as fg:
            with self.assertRaises(fieldgate.NotFoundError):
                await take(fg.events(application="nobody's", session=self.session, store=self.store), 1)

    async def test_a_second_program_of_the_same_name_ends_the_first(self) -> None:
        async with self.world.connect() as fg, self.world.connect() as other:
            first, second = self.events(fg), self.events(other)
            self.publish(1, 1)
            self.assertEqual(await take(first, 1), [1])
            self.publish(2, 2)
            self.assertEqual(await take(second, 1), [2])
            with self.assertRaises(fieldgate.TakenOverError):
                await take(first, 2)

    async def test_a_new_application_of_the_organization_is_read_from_its_first_event(self) -> None:
        await asyncio.sleep(1.1)  # The time of an HTTP answer has whole seconds: no event of another test counts.
        with patch("fieldgate._feed.LOOK_FOR_APPLICATIONS_SECONDS", 0.2):
            async with self.world.connect() as fg:
                stream = self.events(fg, application=None, start="now")
                self.publish(1, 1)
                self.assertEqual(await take(stream, 1), [1])
                self.application = await self.world.new_application()
                self.device = await self.world.new_device(self.application)
                self.publish(2, 3)
                self.assertEqual(await take(stream, 2), [2, 3])

    async def test_a_device_that_moves_to_another_application_is_followed(self) -> None:
        with patch("fieldgate._feed.LOOK_FOR_DEVICES_SECONDS", 0.2):
            async with self.world.connect() as fg:
                stream = self.events(fg, application=None, device=self.device)
                self.publish(1, 1)
                self.assertEqual(await take(stream, 1), [1])
                self.application = await self.world.new_application()
                moved = {"device": {"applicationID": self.application}}
                await self.world.admin("PUT", f"/api/devices/{self.device}", moved)
                self.publish(2, 3)
                self.assertEqual(await take(stream, 2), [2, 3])

    async def test_devices_and_kinds_narrow_a_stream(self) -> None:
        other = await self.world.new_device(self.application)
        async with self.world.connect() as fg:
            self.world.uplinks(self.application, other, range(1, 2))
            self.world.publish(self.application, self.device, "join", {"devAddr": "01020304"})
            self.publish(2, 2)
            stream = self.events(fg, application=None, device=self.device.upper(), kinds=["up"])
            self.assertEqual(await take(stream, 1), [2])
            kinds = [event.kind async for event in fg.history(device=self.device)]
            self.assertEqual(kinds, ["join", "up"])

    async def test_a_wait_that_was_cancelled_loses_nothing(self) -> None:
        async with self.world.connect() as fg:
            stream = self.events(fg)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(stream), 0.3)
            self.publish(1, 2)
            self.assertEqual(await take(stream, 2), [1, 2])

    async def test_a_store_that_fails_leaves_the_event_unhandled(self) -> None:
        store = FailingStore()
        async with self.world.connect() as fg:
            self.publish(1, 2)
            stream = self.events(fg, store=store)
            first = await anext(stream)
            store.is_broken = True
            with self.assertRaises(OSError):
                await anext(stream)
            store.is_broken = False
            second = await anext(stream)
            self.assertLess(first.id or "", second.id or "")
            self.assertEqual(store.places, {self.application: first.id})

    async def test_a_key_with_the_right_to_read_is_enough_until_it_is_revoked(self) -> None:
        keys = f"/api/organizations/{self.world.organization_id}/api-keys"
        try:
            made = await self.world.admin("POST", keys, {"apiKey": {"name": self.session, "rights": ["events.read"]}})
        except fieldgate.NotFoundError:
            self.skipTest("this service has no API keys")
        self.publish(1, 1)
        async with self.world.connect(api_key=made["key"], username=None, password=None) as fg:
            stream = self.events(fg)
            self.assertEqual(await take(stream, 1), [1])
            with self.assertRaises(fieldgate.NotAuthorizedError) as refused:
                await fg.device(self.device).send(f_port=1, data=b"")
            self.assertEqual(refused.exception.code, "api_key_right_missing")
            await self.world.admin("DELETE", f"{keys}/{made['id']}")
            with self.assertRaises(fieldgate.AuthenticationError):
                await take(stream, 1)

    async def test_by_websocket(self) -> None:
        port = self.world.url.rsplit(":", 1)[1]
        async with self.world.connect(broker=f"wss://localhost:{port}") as fg:
            self.publish(1, 3)
            self.assertEqual(await take(self.events(fg), 3), [1, 2, 3])

    async def test_by_a_proxy(self) -> None:
        targets: list[str] = []
        server = await asyncio.start_server(lambda *ends: tunnel(targets, *ends), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with self.world.connect(proxy=f"http://127.0.0.1:{port}") as fg:
                self.publish(1, 1)
                self.assertEqual(await take(self.events(fg), 1), [1])
        self.assertIn(f"localhost:{self.world.mqtts_port}", targets)
        self.assertIn(self.world.url.removeprefix("https://"), targets)

    async def test_patience_has_an_end_where_the_program_asks_for_one(self) -> None:
        with self.assertRaises(fieldgate.UnreachableError):
            async with self.world.connect(broker="mqtts://localhost:1", patience_seconds=0.6) as fg:
                await take(self.events(fg), 1)

    async def test_an_unknown_authority_is_named(self) -> None:
        with self.assertRaises(fieldgate.FieldgateError) as refused:
            await self.world.connect(ca_file=None).__aenter__()
        self.assertEqual(refused.exception.code, "certificate_not_trusted")


class FailingStore:
    """Keeps places in memory, unless it is broken."""

    def __init__(self) -> None:
        self.is_broken = False
        self.places: dict[str, str] = {}

    async def load(self, session: str) -> Mapping[str, str]:
        """The places."""
        return dict(self.places)

    async def save(self, session: str, application_id: str, place: str) -> None:
        """Keeps a place. Raises `OSError`."""
        if self.is_broken:
            raise OSError("the disk is full")
        self.places[application_id] = place


async def tunnel(targets: list[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection of an HTTP proxy (RFC 9110 §9.3.6)."""
    head = await reader.readuntil(b"\r\n\r\n")
    target = head.split()[1].decode()
    targets.append(target)
    host, port = target.rsplit(":", 1)
    to_reader, to_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(65_536):
                sink.write(chunk)
        except OSError:
            pass
        finally:
            sink.close()

    await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))


if __name__ == "__main__":
    unittest.main()
