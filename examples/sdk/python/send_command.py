import sys

import fieldgate.blocking

with fieldgate.blocking.connect() as fg:
    command = fg.device(sys.argv[1]).send(f_port=10, data=bytes.fromhex(sys.argv[2]), confirmed=True)
    print("accepted", flush=True)
    command.wait_sent(timeout=3600)
    print("sent", flush=True)
    command.wait_acknowledged(timeout=3600)
    print("acknowledged", flush=True)
