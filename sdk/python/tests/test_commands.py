"""Commands and the plain face, with a real service."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import fieldgate
import fieldgate.blocking
from world import FILE, WAIT_SECONDS, World


@unittest.skipIf(FILE is None, "FIELDGATE_TEST_WORLD names no service")
class CommandTest(unittest.IsolatedAsyncioTestCase):
    """A device, and a network server that takes its commands."""

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

    def tell(self, kind: str, **members: object) -> None:
        """An event of the network server about the last command."""
        self.world.publish(self.application, self.device, kind, {"fCnt": 7, **members})

    async def send(self, fg: fieldgate.Fieldgate, **options: object) -> fieldgate.Command:
        """A command that has reached the network server."""
        given = {"f_port": 10, "data": b"\x01\x02", "confirmed": True, **options}
        command = await fg.device(self.device).send(**given)  # type: ignore[arg-type]
        taken = await self.world.command()
        self.assertEqual((taken["devEui"], taken["data"]), (self.device, "AQI="))
        # The network server's PUBACK may still be on its way. An event before it is about no command.
        while (await fg.device(self.device).commands())[0]["state"] == "queued":
            await asyncio.sleep(0.01)
        return command

    async def reached(self, step: asyncio.Future[None]) -> None:
        """Waits for a step, for a bounded time."""
        await asyncio.wait_for(step, WAIT_SECONDS)

    async def test_each_step_is_told(self) -> None:
        async with self.world.connect() as fg:
            command = await self.send(fg)
            await self.reached(command.accepted)
            self.assertFalse(command.sent.done())
            self.tell("txack")
            await self.reached(command.sent)
            self.assertEqual(command.state, "sent")
            self.tell("ack", acknowledged=True)
            await self.reached(command.acknowledged)
            self.assertEqual((command.state, command.is_over), ("acknowledged", True))

    async def test_a_device_that_does_not_acknowledge_is_an_error(self) -> None:
        async with self.world.connect() as fg:
            command = await self.send(fg)
            self.tell("txack")
            self.tell("ack", acknowledged=False)
            with self.assertRaises(fieldgate.NotAcknowledgedError) as fault:
                await self.reached(command.acknowledged)
            self.assertEqual(fault.exception.command_id, command.id)
            await self.reached(command.sent)

    async def test_steps_that_were_told_while_the_connection_was_away_are_read_from_the_list(self) -> None:
        async with self.world.connect() as fg:
            command = await self.send(fg)
            while await self.world.end_connections() == 0:
                await asyncio.sleep(0.05)  # The connection for events is still being opened.
            self.tell("txack")
            self.tell("ack", acknowledged=True)
            await self.reached(command.acknowledged)

    async def test_a_refusal_has_its_code_its_sentence_and_its_member(self) -> None:
        async with self.world.connect() as fg:
            device = fg.device(self.device)
            with self.assertRaises(fieldgate.CommandRefusedError) as refused:
                await device.send(f_port=300, data=b"")
            self.assertEqual((refused.exception.code, refused.exception.member), ("command_out_of_range", "fPort"))
            self.assertEqual(refused.exception.sentence, "fPort: 300 is above 255")
            with self.assertRaises(fieldgate.CommandRefusedError) as late:
                await device.send(f_port=3, data=b"", expires_at=datetime.now(timezone.utc) - timedelta(hours=1))
            self.assertEqual(late.exception.code, "command_expired")
            with self.assertRaises(fieldgate.NotFoundError):
                await fg.device("ffffffffffffffff").send(f_port=3, data=b"")
            for wrong in ({"f_port": 1}, {"f_port": 1, "data": b"", "expires_at": datetime(2030, 1, 1)}):
                with self.assertRaises(ValueError):
                    await device.send(**wrong)

    async def test_a_cancelled_command_fails_with_its_code(self) -> None:
        async with self.world.connect() as fg:
            await self.send(fg)
            # This network server gets one command of a device at a time.
            waiting = await fg.device(self.device).send(f_port=10, data=b"\x03")
            await fg.device(self.device).cancel(waiting.id)
            with self.assertRaises(fieldgate.CommandFailedError) as fault:
                await self.reached(waiting.sent)
            self.assertEqual((fault.exception.code, waiting.state), ("command_cancelled", "cancelled"))

    async def test_a_command_of_the_same_id_is_sent_once(self) -> None:
        async with self.world.connect() as fg:
            first = await self.send(fg, command_id="valve-7")
            self.tell("txack")
            await self.reached(first.sent)
            again = await fg.device(self.device).send(f_port=10, data=b"\x01\x02", confirmed=True, command_id="valve-7")
            await self.reached(again.sent)
            self.assertEqual(len(await fg.device(self.device).commands()), 1)

    async def test_a_client_that_closes_does_not_leave_its_waiters(self) -> None:
        async with self.world.connect() as fg:
            command = await self.send(fg)
            waiter = asyncio.ensure_future(asyncio.wait_for(command.sent, WAIT_SECONDS))
            await asyncio.sleep(0)
        with self.assertRaises(fieldgate.CommandUnconfirmedError):
            await waiter
        unconfirmed = fieldgate.Command("a", "b", confirmed=False)
        with self.assertRaises(ValueError):
            _ = unconfirmed.acknowledged

    async def test_the_plain_face_from_two_threads(self) -> None:
        results: dict[str, object] = {}
        is_read = threading.Event()

        def read(fg: fieldgate.blocking.Fieldgate) -> None:
            with fg.events(application=self.application, start="earliest") as events:
                results["first"] = events.next(timeout=WAIT_SECONDS)
                results["none"] = events.next(timeout=0.2)
                self.world.uplinks(self.application, self.device, range(1, 3))
                results["counters"] = [getattr(events.next(timeout=WAIT_SECONDS), "f_cnt", None) for _ in range(2)]
            results["kinds"] = [event.kind for event in fg.history(device=self.device)]
            is_read.set()

        def work() -> None:
            given = {"username": self.world.user, "password": self.world.password, "ca_file": self.world.ca}
            with fieldgate.blocking.connect(self.world.url, **given) as fg:
                reader = threading.Thread(target=read, args=[fg])
                reader.start()
                command = fg.device(self.device).send(f_port=10, data=b"\x01")
                with self.assertRaises(TimeoutError):
                    command.wait_sent(timeout=0.1)
                self.world.commands.get(timeout=WAIT_SECONDS)
                is_read.wait(WAIT_SECONDS)
                while fg.device(self.device).commands()[0]["state"] == "queued":
                    time.sleep(0.01)
                self.tell("txack")
                command.wait_sent(timeout=WAIT_SECONDS)
                reader.join()
            with self.assertRaises(fieldgate.ClosedError):
                fg.applications()

        self.world.publish(self.application, self.device, "status", {"margin": 7, "batteryLevel": 50})
        with patch("fieldgate.client.default_store", side_effect=AssertionError("no session, no file")):
            await asyncio.to_thread(work)
        first = results["first"]
        assert isinstance(first, fieldgate.StatusEvent)
        self.assertEqual((first.margin, first.battery_level), (7, 50.0))
        self.assertEqual(results["none"], None)
        self.assertEqual(results["counters"], [1, 2])
        self.assertEqual(results["kinds"], ["status", "up", "up"])


if __name__ == "__main__":
    unittest.main()
