import asyncio

import fieldgate


async def main() -> None:
    async with fieldgate.connect() as fg:
        async for event in fg.events(session="meter-import"):
            if event.kind == "up":
                print(event.device_name, event.f_cnt, event.object or event.data, flush=True)


asyncio.run(main())
