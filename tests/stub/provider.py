"""A tiny OpenID Connect provider on loopback: discovery, authorization, tokens, keys, user information.

It logs everybody in at once as the person that the test put into ``claims``; ``asked`` holds the paths that came in.
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any, Self
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bench.port import free_port

CLIENT, SECRET = "gieok", "a-secret-of-the-test"


class Provider:
    """The provider as a server in a thread; ``claims``: what it says about whoever logs in next."""

    def __init__(self, **claims: Any) -> None:
        self.claims: dict[str, Any] = claims
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{free_port()}"
        self._key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self._codes: dict[str, tuple[str, dict[str, Any]]] = {}
        routes = [
            Route("/.well-known/openid-configuration", self._discovery),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/jwks", self._jwks),
            Route("/userinfo", self._userinfo),
            Route("/end", self._end),
        ]
        port = int(self.url.rpartition(":")[2])
        options = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error")
        self._server = uvicorn.Server(options)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        until = time.monotonic() + 120
        while not self._server.started and time.monotonic() < until:
            self._thread.join(0.02)
        assert self._server.started
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)

    def section(self, page: str) -> str:
        """The section [auth] of the secrets of a page at this address."""
        return "\n".join(
            (
                "[auth]",
                f'redirect_uri = "{page}/oauth2callback"',
                f'cookie_secret = "{secrets.token_hex(16)}"',
                f'client_id = "{CLIENT}"',
                f'client_secret = "{SECRET}"',
                f'server_metadata_url = "{self.url}/.well-known/openid-configuration"',
                "",
            )
        )

    async def _discovery(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                "userinfo_endpoint": f"{self.url}/userinfo",
                "end_session_endpoint": f"{self.url}/end",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        asked = request.query_params
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        code = secrets.token_hex(8)
        self._codes[code] = (asked["nonce"], dict(self.claims))
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}")

    async def _token(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        form = await request.form()
        nonce, claims = self._codes.pop(str(form["code"]))
        now = int(time.time())
        body = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": nonce, **claims}
        token = jwt.encode({"alg": "RS256", "kid": "1"}, body, self._key)
        return JSONResponse(
            {"access_token": secrets.token_hex(8), "token_type": "Bearer", "expires_in": 600, "id_token": token}
        )

    async def _jwks(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def _userinfo(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse(self.claims)

    async def _end(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return RedirectResponse(request.query_params["post_logout_redirect_uri"])
