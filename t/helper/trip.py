"""trip.py ADDRESS BYTES [TIMEOUT] - connect to the trip.py at ADDRESS, send
BYTES bytes, and wait for one byte; prints the seconds that this took.  Without
BYTES, listen at ADDRESS and answer.
"""
import socket
import sys
import time

at = (sys.argv[1], 7000)
if len(sys.argv) == 2:
    listener = socket.create_server(at)
    print('ready', flush=True)
    while True:
        peer = listener.accept()[0]
        while not peer.recv(1 << 16).endswith(b'!'):
            pass
        peer.sendall(b'.')
else:
    began = time.monotonic()
    timeout = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    peer = socket.create_connection(at, timeout)
    peer.sendall(bytes(int(sys.argv[2]) - 1) + b'!')
    peer.recv(1)
    print(time.monotonic() - began)
