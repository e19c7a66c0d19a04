"""What holds for every response: nothing from elsewhere, nothing inline, nothing kept that should not be."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), browsing-topics=()",
}
# More than any form or answer takes.
_LARGEST = 64 * 1024


class Guarded:
    """An app whose responses carry these headers, and whose requests are small."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # Scripts and styles have no version in their names: a browser asks whether they changed.
                kept = "no-cache" if scope["path"].startswith("/static/") else "no-store"
                headers.setdefault("Cache-Control", kept)
                if scope.get("scheme") == "https":
                    headers["Strict-Transport-Security"] = "max-age=31536000"
            await send(message)

        if _too_large(scope):
            await PlainTextResponse("Too large.", 413)(scope, receive, guarded)
            return
        await self.app(scope, _counted(receive), guarded)


def _too_large(scope: Scope) -> bool:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    return not length.isdigit() or int(length) > _LARGEST


def _counted(receive: Receive) -> Receive:
    """Also where a request does not say how large it is, no more is read."""
    read = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > _LARGEST:
            return {"type": "http.disconnect"}
        return message

    return counted
