# SPDX-License-Identifier: Apache-2.0
"""A WebSocket (RFC 6455), both sides.

As a module it is a program that says it is TensorBoard and echoes every message; a page of it
says "page".  As a command it is a client:

    websocket.py URL CAFILE TOKEN STEP...

Steps: text=TEXT sends a message and waits for its echo; size=BYTES the same with that many
bytes; wait=FILE waits until the file is there; end waits until the other side closes.  It
prints the status of a handshake that failed, and a line for each step.
"""
import base64
import hashlib
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

PATIENCE_S = 60
PIECE = 65536
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key + MAGIC).digest())


def read_exactly(file, count):
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return data


def read_head(file):
    lines = []
    while True:
        line = file.readline()
        if line in (b"\r\n", b"\n", b""):
            break
        lines.append(line.strip())
    headers = dict(line.lower().split(b": ", 1) for line in lines[1:] if b": " in line)
    values = dict(line.split(b": ", 1) for line in lines[1:] if b": " in line)
    return lines[0] if lines else b"", headers, {name.lower(): values[name] for name in values}


def read_message(file):
    first, second = read_exactly(file, 2)
    size = second & 0x7F
    if size == 126:
        size = struct.unpack(">H", read_exactly(file, 2))[0]
    elif size == 127:
        size = struct.unpack(">Q", read_exactly(file, 8))[0]
    mask = read_exactly(file, 4) if second & 0x80 else None
    data = read_exactly(file, size)
    if mask:
        whole = (mask * (size // 4 + 1))[:size]
        data = (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
    if first & 0x0F == 8:
        raise EOFError
    return data


def write_message(file, data, is_masked):
    size = len(data)
    bit = 0x80 if is_masked else 0
    if size < 126:
        head = struct.pack(">BB", 0x82, bit | size)
    elif size < 65536:
        head = struct.pack(">BBH", 0x82, bit | 126, size)
    else:
        head = struct.pack(">BBQ", 0x82, bit | 127, size)
    file.write(head + (b"\0\0\0\0" if is_masked else b"") + data)  # a mask that changes nothing
    file.flush()


def serve(connection):
    file = connection.makefile("rwb")
    _, headers, values = read_head(file)
    if headers.get(b"upgrade") != b"websocket":
        file.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\npage\n")
        file.flush()
        connection.close()
        return
    key = accept_key(values[b"sec-websocket-key"])
    file.write(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: " + key + b"\r\n\r\n"
    )
    file.flush()
    try:
        while True:
            write_message(file, read_message(file), is_masked=False)
    except (EOFError, OSError):
        connection.close()


def run_main():
    listener = socket.create_server(("127.0.0.1", 0))
    print("TensorBoard 0.0 at http://127.0.0.1:%d/" % listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


class Line:
    """Reads and writes a socket in one thread.  A TLS socket of Python breaks if one thread reads while another writes."""

    def __init__(self, connection):
        connection.setblocking(False)
        self.connection, self.received, self.unsent = connection, bytearray(), bytearray()

    def write(self, data):
        self.unsent += data

    def flush(self):
        """read() sends: the other side may have to be read before it takes more."""

    def read(self, count):
        while len(self.received) < count and self.move():
            pass
        return self.take(count)

    def readline(self):
        while b"\n" not in self.received and self.move():
            pass
        return self.take(self.received.find(b"\n") + 1)

    def take(self, count):
        data = bytes(self.received[:count])
        del self.received[:count]
        return data

    def move(self):
        """Moves what can be moved, or waits until something can.  False: the other side has ended."""
        sent = self.attempt(lambda: self.connection.send(self.unsent[:PIECE])) if self.unsent else None
        del self.unsent[: sent or 0]
        data = self.attempt(lambda: self.connection.recv(PIECE))
        self.received += data or b""
        if sent is None and data is None:
            wants = select.select([self.connection], [self.connection] if self.unsent else [], [], PATIENCE_S)
            assert any(wants), "nothing moves"
        return data != b""

    def attempt(self, action):
        try:
            return action()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None


def connect(url, authority, token):
    parts = urllib.parse.urlsplit(url)
    plain = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S)
    if parts.scheme == "wss":
        context = ssl.create_default_context(cafile=authority)
        plain = context.wrap_socket(plain, server_hostname=parts.hostname)
    file = Line(plain)
    key = base64.b64encode(os.urandom(16))
    file.write(
        b"GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n%s\r\n"
        % (
            parts.path.encode(),
            parts.netloc.encode(),
            key,
            b"Authorization: Bearer %s\r\n" % token.encode() if token else b"",
        )
    )
    file.flush()
    status, _, values = read_head(file)
    if status.split()[1] != b"101":
        print(status.decode())
        sys.exit(1)
    assert values[b"sec-websocket-accept"] == accept_key(key)
    print("open", flush=True)
    return file


def step(file, name, value):
    if name == "text" or name == "size":
        data = value.encode() if name == "text" else os.urandom(int(value))
        write_message(file, data, is_masked=True)
        assert read_message(file) == data, "the echo differs"
    elif name == "wait":
        until = time.monotonic() + PATIENCE_S
        while not os.path.exists(value) and time.monotonic() < until:
            time.sleep(0.02)
    elif name == "end":
        try:
            read_message(file)
            print("a message instead of the end")
            sys.exit(1)
        except (EOFError, ConnectionError, ssl.SSLError):
            pass
    print(name, value, flush=True)


def main():
    file = connect(*sys.argv[1:4])
    for each in sys.argv[4:]:
        name, _, value = each.partition("=")
        step(file, name, value)


if __name__ == "__main__":
    main()
