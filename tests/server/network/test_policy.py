"""What the page tells browsers: no pictures from elsewhere, and no frame of another site."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import settings
from errors import BadSetting
from server.network.policy import build_page_middleware


def read_policy() -> str:
    page = Route("/", lambda request: PlainTextResponse("page"))
    app = Starlette(routes=[page], middleware=build_page_middleware(login=True))
    with TestClient(app, base_url="http://localhost") as client:
        return str(client.get("/").headers["content-security-policy"])


def test_no_site_may_show_the_page_in_a_frame() -> None:
    assert "frame-ancestors 'none'" in read_policy()


def test_a_site_of_the_settings_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_FRAME_ANCESTORS", "https://Portal.example.com/, http://intra:8080")
    settings.load_current_settings.cache_clear()
    assert read_policy().endswith("frame-ancestors https://portal.example.com http://intra:8080")


@pytest.mark.parametrize(
    "value", ["portal.example.com", "https://a b", "https://x/path", "*", "https://x; script-src *"]
)
@pytest.mark.parametrize("name", ["GIEOK_FRAME_ANCESTORS", "GIEOK_API_ORIGINS"])
def test_what_is_no_site_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    settings.load_current_settings.cache_clear()
    with pytest.raises(BadSetting, match=name):
        settings.load_current_settings()
