"""One request of HTTP, with an end by when it is answered and a bound on the answer.

The timeouts of sockets are for each piece that arrives: a server that sends a byte a second outlives them.
"""

import http.client
import io
import socket
import time
import urllib.request

# What is sent at a time: one record of TLS, each of which may take as long as a socket waits.
_PIECE = 16 << 10
# What is read at a time.
_BLOCK = 1 << 18
# What is read of an answer that is an error.
_PROBLEM = 1 << 20


class TooLong(ValueError):
    """An answer is longer than it may be."""


class Exchange:
    """Sends requests, and follows no redirect.

    Parameters
    ----------
    proxies : bool
        Whether the proxies of the environment are asked.
    """

    def __init__(self, proxies):
        self._opener = urllib.request.OpenerDirector()
        for handler in [_HTTP(), _HTTPS(), *([urllib.request.ProxyHandler()] if proxies else [])]:
            self._opener.add_handler(handler)

    def send(self, method, target, body, headers, end, largest):
        """Send a request once.

        Parameters
        ----------
        method, target : str
        body : bytes or None
        headers : dict
        end : float
            By when the last byte has to be here, as ``time.monotonic`` tells the time.
        largest : int
            The most bytes of the answer. One that is an error is cut off instead.

        Returns
        -------
        status : int
        headers : http.client.HTTPMessage
        content : bytes

        Raises
        ------
        TooLong
            If the answer is longer.
        OSError, ValueError, http.client.HTTPException
            If it did not come, or not in time: then that time is over.
        """
        request = urllib.request.Request(target, data=body, headers=headers, method=method)
        with self._opener.open(request, timeout=_left(end)) as answer:
            fine = answer.status // 100 == 2
            if fine and (answer.length or 0) > largest:
                raise TooLong
            blocks, room = [], largest if fine else min(largest, _PROBLEM)
            while True:
                block = answer.read(min(_BLOCK, room + 1))
                if not block:
                    break
                blocks.append(block)
                room -= len(block)
                if room < 0:
                    if fine:
                        raise TooLong
                    break
            if fine and answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
        return answer.status, answer.headers, b"".join(blocks)


def _left(end):
    """The seconds until end."""
    left = end - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return min(left, 1e6)  # more is too much for a socket


class _Until:
    """Makes connections keep the end that their timeout says when they are made."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._end = time.monotonic() + self.timeout
        self._create_connection = self._connected
        self.response_class = lambda sock, *a, **k: http.client.HTTPResponse(_Socket(sock, self._end), *a, **k)

    def _connected(self, address, timeout, source_address=None):
        """A connection to the first of a host's addresses that answers."""
        error = OSError(f"there is no host {address[0]}")
        for _, _, _, _, where in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            try:
                return socket.create_connection(where[:2], _left(self._end), source_address)
            except OSError as e:
                error = e
        raise error

    def _tunnel(self):
        """Ask a proxy for a connection. Where its answer breaks off, http.client leaves the answer open."""
        begun, kind = [], self.response_class

        def response(*args, **kwargs):
            begun.append(kind(*args, **kwargs))
            return begun[-1]

        self.response_class = response
        try:
            super()._tunnel()
        except BaseException:
            for answer in begun:
                answer.close()
            raise
        finally:
            self.response_class = kind

    def send(self, data):
        if self.sock is None:
            self.connect()
        data = memoryview(data)
        for k in range(0, len(data), _PIECE):
            self.sock.settimeout(_left(self._end))
            super().send(data[k:k + _PIECE])


class _Socket:
    """What a response reads from."""

    def __init__(self, sock, end):
        self._sock = sock
        self._end = end

    def makefile(self, mode):
        return io.BufferedReader(_Pieces(self._sock, self._end))


class _Pieces(io.RawIOBase):
    """What arrives at a socket until an end."""

    def __init__(self, sock, end):
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)
        self._end = end

    def readable(self):
        return True

    def readinto(self, buffer):
        self._sock.settimeout(_left(self._end))
        return self._file.readinto(buffer)

    def close(self):
        self._file.close()
        super().close()


class _Connection(_Until, http.client.HTTPConnection):
    pass


class _SecureConnection(_Until, http.client.HTTPSConnection):
    pass


class _HTTP(urllib.request.HTTPHandler):
    def http_open(self, request):
        return self.do_open(_Connection, request)


class _HTTPS(urllib.request.HTTPSHandler):
    def https_open(self, request):
        return self.do_open(_SecureConnection, request)
