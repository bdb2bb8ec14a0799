"""strangers.py KIND ENDPOINT CONNECTIONS - connect to a program of pskit as
strangers, by ZMTP 3.0, and count the connections that the program closes.

KIND tells what each connection does:
  idle     completes the handshake, and sends nothing more
  command  sends a command of 64 MiB in the handshake, bit by bit (with CURVE,
           if KIND is curve)
  message  sends an endless message of small frames
  twins    uses the same name as the others, and sends small messages
  comers   connects and disconnects

Connections that send continue until the program has closed all of them.  Idle
ones stay until standard input ends.  Prints the number that were closed.
"""
import resource
import select
import socket
import struct
import sys

kind, endpoint, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
host, port = endpoint[len('tcp://'):].rsplit(':', 1)
mechanism = b'CURVE' if kind == 'curve' else b'NULL'
GREETING = (b'\xff' + bytes(8) + b'\x7f\x03\x00' +
            mechanism.ljust(20, b'\0')).ljust(64, b'\0')


def prop(name, value):
    return bytes([len(name)]) + name + struct.pack('>I', len(value)) + value


def ready(name):
    body = (b'\x05READY' + prop(b'Socket-Type', b'DEALER') +
            prop(b'Identity', name))
    return b'\x04' + bytes([len(body)]) + body


def dial():
    s = socket.create_connection((host, int(port)), timeout=30)
    s.sendall(GREETING)
    return s


def shake_hands(s, name=b''):
    s.sendall(ready(name))
    need = 65
    while need > 0:
        got = s.recv(need)
        if not got:
            return
        need -= len(got)


def said(s):
    if kind in ('command', 'curve'):
        s.sendall(b'\x06' + struct.pack('>Q', 64 << 20))
        return bytes(1 << 16)
    if kind == 'message':
        shake_hands(s)
        return b'\1\1x' * 20000
    shake_hands(s, b'twin')
    return b'\0\3\x92\5\0' * 10000


def talk():
    said_by = {}
    for _ in range(count):
        s = dial()
        try:
            said_by[s] = said(s)
            s.setblocking(False)
        except OSError:
            pass
    while said_by:
        for s in select.select([], list(said_by), [], 30)[1]:
            try:
                s.send(said_by[s])
            except BlockingIOError:
                pass
            except OSError:
                del said_by[s]


def is_hung_up(s):
    s.setblocking(False)
    try:
        while True:
            if not s.recv(4096):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if kind == 'idle':
    here = [dial() for _ in range(count)]
    for one in here:
        try:
            one.sendall(ready(b''))
        except OSError:
            pass
    print('here', flush=True)
    sys.stdin.read()
    print(sum(map(is_hung_up, here)))
elif kind == 'comers':
    for _ in range(count):
        socket.create_connection((host, int(port)), timeout=30).close()
    print(count)
else:
    talk()
    print(count)
