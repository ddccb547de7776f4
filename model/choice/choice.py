"""A model that a user chose in the page: the entered values, their check, and the settings that result from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from model.choice import default
from settings import Settings, is_address, is_key

OPENAI = "https://api.openai.com/v1"
Kind = Literal["hosted", "local", "embedded"]
KINDS: tuple[Kind, ...] = ("hosted", "local", "embedded")
Problem = Literal["url", "url_secret", "key_signs", "key_missing"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The values that a user entered. ``url``: up to and including ``/v1``; empty fields take the settings' values.

    For an embedded model, ``chat_model`` is its name in the catalogue. ``kept_key``: the choice uses the key that is
    stored for this address (``model.choice.kept``), and ``key`` stays empty until that key is read.
    """

    kind: Kind
    url: str = ""
    key: SecretStr = field(default=SecretStr(""), repr=False)
    chat_model: str = ""
    utility_model: str = ""
    kept_key: bool = False

    def problem(self, base: Settings) -> Problem | None:
        """Returns the problem with the values before any server is asked; ``models.problem.<problem>`` words it for the
        page."""
        if self.url and (problem := _url_problem(self.url)):
            return problem
        key = self.key.get_secret_value()
        if key and not is_key(key):
            return "key_signs"
        settings = self.apply_to_settings(base)
        hosted = self.kind == "hosted" and (settings.openai_base_url or OPENAI) == OPENAI
        return "key_missing" if hosted and settings.openai_api_key is None and not self.kept_key else None

    def apply_to_settings(self, base: Settings) -> Settings:
        """Returns the settings with this choice in them.

        The settings' key goes only to the settings' address. Anybody who opens the page may name an address, and must
        not have somebody else's key sent there.
        """
        if self.kind == "embedded":
            return default.build_embedded_settings(base, self.chat_model)
        fields: dict[str, object] = {"provider": self.kind}
        url = self.url.rstrip("/")
        same_address = self.kind == "hosted" and url in ("", (base.openai_base_url or OPENAI).rstrip("/"))
        fields |= {
            "chat_model": self.chat_model or (base.chat_model if same_address else None),
            "utility_model": self.utility_model
            or (base.utility_model if same_address and not self.chat_model else None),
        }
        if not same_address:
            fields |= {"context_size": None, "native_tools": None}
        if self.kind == "local":
            return base.model_copy(update=fields | ({"local_servers": (url,)} if url else {}))
        key = self.key if self.key.get_secret_value() else base.openai_api_key if same_address else None
        return base.model_copy(update=fields | {"openai_base_url": url or base.openai_base_url, "openai_api_key": key})


def _url_problem(url: str) -> Problem | None:
    if not is_address(url):
        return "url"
    parts = urlsplit(url)
    return "url_secret" if parts.username or parts.password or parts.query or parts.fragment else None
