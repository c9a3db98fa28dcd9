"""A relay between a client and the broker that can lose the broker's answers."""

import socket
import threading
import time

CHUNK = 1 << 16


class Relay:
    """Listens on this machine and hands every connection on to the broker's port."""

    def __init__(self, port):
        self._port, self._lock, self._pairs = port, threading.Lock(), set()
        self._losing, self._lost = False, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answers(self):
        """From now on the broker hears the clients and they do not hear it."""
        with self._lock:
            self._losing, self._lost = True, 0

    def cut(self):
        """Ends every connection; those that come hear again. Returns the bytes that were lost."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
            for pair in pairs:
                self._end(pair)
            self._losing = False
            return self._lost

    def lost(self):
        with self._lock:
            return self._lost

    def close(self):
        self._server.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
                broker = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                if self._server.fileno() < 0:
                    return
                client.close()  # the broker is not there, and the client is to notice
                continue
            for end in (client, broker):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (client, broker)
            with self._lock:
                self._pairs.add(pair)
            threading.Thread(target=self._pass, args=(pair, client, broker, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(pair, broker, client, True), daemon=True).start()

    def _pass(self, pair, source, sink, answers):
        try:
            while data := source.recv(CHUNK):
                if answers and self._lose(pair, len(data)):
                    continue
                sink.sendall(data)
        except OSError:
            pass  # the other end is gone; so is this pair
        with self._lock:
            self._pairs.discard(pair)
            self._end(pair)

    def _lose(self, pair, size):
        with self._lock:
            # What came before the cut and is handed on only after it is lost all the same.
            if not self._losing and pair in self._pairs:
                return False
            self._lost += size
            return True

    @staticmethod
    def _end(pair):
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # ended already
            end.close()


def await_that(holds, limit_s):
    """Whether it came to hold within the limit."""
    end = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
