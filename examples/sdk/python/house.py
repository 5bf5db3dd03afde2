"""A plain script for a house, without asyncio: a warm room switches the fan on. python house.py <fan>"""

import sys

import fieldgate
import fieldgate.blocking

WARM = 26.0

with fieldgate.blocking.connect() as fg:
    fan = fg.device(sys.argv[1])
    is_on = False
    for event in fg.events(kinds=["up", "status"], session="house"):
        if event.kind == "status" and event.battery_level is not None and event.battery_level < 10:
            print(f"{event.device_name}: change the battery", flush=True)
        elif event.kind == "up" and event.object:
            warm = any(degrees > WARM for degrees in event.object.get("temperatureSensor", {}).values())
            if warm != is_on:
                try:
                    fan.send(f_port=1, data=bytes([warm])).wait_sent(timeout=600)
                    is_on = warm
                    print("the fan is on" if warm else "the fan is off", flush=True)
                except (fieldgate.CommandError, TimeoutError) as error:
                    print(f"the fan: {error}", flush=True)
