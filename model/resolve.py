"""Which model is used: hosted with a key, else a local server that answers, else the embedded one (design §9)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

import httpx2
from langchain_core.language_models import BaseChatModel

from errors import BadSetting, KeyRejected, ModelUnreachable
from model import catalogue, client, default, embedded, slot, token, weights
from model.catalogue import Weights
from model.endpoint import Found
from model.modelset import Kind, ModelSet
from model.prefix import Prefix, Prefixes
from model.probe import Listed, Refused, Told, context_size, listed, told
from model.profile import SMALL, Choice, choose, written_by_model
from settings import Settings, variable

OPENAI = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-5-mini"
CONTEXT = 128_000
_HOSTED_TIMEOUT = 10.0
_NO_CHAT = re.compile(
    r"embed|rerank|whisper|\btts\b|dall-e|moderation|minilm|(^|[/:_-])(bge|e5|gte|nomic|clip)-", re.IGNORECASE
)

Offered = tuple[Listed, ...]
Report = Callable[[weights.Progress], None]


def models(
    settings: Settings,
    progress: Report | None = None,
    cancel: threading.Event | None = None,
    prefixes: Sequence[Prefix] = (),
) -> ModelSet:
    """The models that the settings ask for, ready to answer: the first answer can begin at once.

    May take minutes the first time: weights are fetched, a model loads. ``progress`` follows the fetching of weights,
    ``cancel`` stops it. ``prefixes``: how prompts begin, that of the interface's language first; the embedded model
    has read it when this returns. Raises what ``find`` raises.
    """
    found = find(settings, progress, cancel)
    begun = _prefixes(found, settings, prefixes) if found.kind == "embedded" else None
    count, exact = token.counter(found)
    return ModelSet(
        chat=_role(found, "chat", settings, begun),
        utility=_role(found, "utility", settings, begun),
        count=count,
        exact=exact,
        name=found.chat_model,
        kind=found.kind,
        url=found.url,
        context_size=found.context_size,
        profile=found.chat.profile,
        side=found.utility.profile,
        why=found.chat.why,
        side_why=found.utility.why,
        utility_name=found.utility_model,
    )


def find(settings: Settings, progress: Report | None = None, cancel: threading.Event | None = None) -> Found:
    """The endpoint to use; the embedded server is started when it is the one.

    Raises ``BadSetting``, ``ModelUnreachable``, ``KeyRejected``, or what ``weights.ensure`` and ``embedded.connect``
    raise.
    """
    if _hosted_wanted(settings):
        return _hosted(settings)
    local = _local(settings)
    return local or _embedded(settings, progress, cancel)


def needs_weights(settings: Settings) -> bool:
    """Whether the embedded model will be used and its weights are not there yet."""
    if _hosted_wanted(settings) or weights.ready(settings):
        return False
    return settings.provider == "embedded" or (settings.provider == "auto" and _first_local(settings) is None)


def servers(settings: Settings) -> list[tuple[str, tuple[str, ...]]]:
    """Every address of a local server with the names of its chat models; none where nobody answers."""
    return [(url, tuple(model.name for model in offered)) for url, offered in _answers(settings)]


# --- the three kinds ----------------------------------------------------------------------------


def _hosted_wanted(settings: Settings) -> bool:
    given = bool(settings.openai_api_key or settings.openai_base_url)
    if settings.provider == "hosted" and not given:
        reason = "GIEOK_PROVIDER=hosted needs a key, or OPENAI_BASE_URL for a server without one"
        raise BadSetting(name=variable("openai_api_key"), value="", reason=reason, reason_code="no_key")
    return settings.provider == "hosted" or (settings.provider == "auto" and given)


def _hosted(settings: Settings) -> Found:
    """The server is asked only for what the settings leave open, and never OpenAI's own."""
    url = (settings.openai_base_url or OPENAI).rstrip("/")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    chosen = settings.chat_model or (OPENAI_MODEL if url == OPENAI else None)
    offered: Offered = ()
    if url != OPENAI and (chosen is None or settings.context_size is None):
        offered = _offered(url, key, needed=chosen is None)
    return _found("hosted", url, key, chosen, offered, settings)


def _offered(url: str, key: str, *, needed: bool) -> Offered:
    """What the hosted server lists; failures count only when the list is ``needed``."""
    try:
        offered = _chat_models(listed(url, key, _HOSTED_TIMEOUT))
    except Refused as error:
        if needed and error.status in (401, 403):
            raise KeyRejected(url=url, status=error.status) from error
        if needed and error.status is None:
            raise ModelUnreachable(url=url) from error
        offered = ()
    if needed and not offered:
        reason = f"the server at {url} lists no chat model, so the name must be given"
        raise BadSetting(name=variable("chat_model"), value="", reason=reason, reason_code="no_model", url=url)
    return offered


def _local(settings: Settings) -> Found | None:
    """The first local server that has a chat model; None when another kind may be used instead."""
    if settings.provider == "embedded":
        return None
    first = _first_local(settings)
    if first is None:
        if settings.provider == "local":
            raise ModelUnreachable(url=", ".join(settings.local_servers) or "(no address is set)")
        return None
    return _found("local", first[0], "", settings.chat_model, first[1], settings)


def _first_local(settings: Settings) -> tuple[str, Offered] | None:
    """Address and chat models of the first server, in the order of the settings; all are asked at once.

    With CHAT_MODEL set, a server that has that model goes before those that have not.
    """
    having = [(url, offered) for url, offered in _answers(settings) if offered]
    wanted = [pair for pair in having if settings.chat_model in {model.name for model in pair[1]}]
    return next(iter(wanted or having), None)


def _answers(settings: Settings) -> list[tuple[str, Offered]]:
    urls = [url.rstrip("/") for url in settings.local_servers]
    if not urls:
        return []
    with ThreadPoolExecutor(len(urls)) as pool:
        return list(zip(urls, pool.map(partial(_asked, timeout=settings.local_timeout), urls), strict=True))


def _asked(url: str, timeout: float) -> Offered:
    try:
        return _chat_models(listed(url, "", timeout))
    except Refused:
        return ()


def _chat_models(offered: Offered) -> Offered:
    return tuple(model for model in offered if not _NO_CHAT.search(model.name))


def _found(kind: Kind, url: str, key: str, chosen: str | None, offered: Offered, settings: Settings) -> Found:
    name = chosen or offered[0].name
    size = settings.context_size or next((model.context for model in offered if model.name == name), None)
    if size is None and url != OPENAI:
        size = context_size(url, key, name, settings.local_timeout)
    utility = settings.utility_model or name
    roles = {role: _profile(kind, url, key, role, offered, settings) for role in (name, utility)}
    return Found(
        kind=kind,
        url=url,
        key=key,
        chat_model=name,
        utility_model=utility,
        chat=roles[name],
        utility=_side(roles[utility], settings),
        context_size=size or CONTEXT,
        label=f"{name} ({urlsplit(url).netloc})",
    )


def _profile(kind: Kind, url: str, key: str, name: str, offered: Offered, settings: Settings) -> Choice:
    """What a model of a server is trusted with. A hosted one takes tools; a local server may tell that its model does
    not, and how large it is."""
    server = told(url, key, name, settings.local_timeout) if kind == "local" else Told()
    listed_size = next((model.parameters for model in offered if model.name == name), None)
    takes_tools = server.takes_tools if settings.native_tools is None else settings.native_tools
    return choose(settings.model_profile, parameters=server.parameters or listed_size, takes_tools=takes_tools)


def _side(choice: Choice, settings: Settings) -> Choice:
    """The profile of side calls, by the setting for summaries."""
    return written_by_model(choice) if settings.summaries == "model" else choice


def _embedded(settings: Settings, progress: Report | None, cancel: threading.Event | None) -> Found:
    path = weights.ensure(settings, progress or (lambda _: None), cancel)
    known = None if settings.embedded_path else catalogue.by_file(path.name)
    settings = default.named(settings, known)
    server = embedded.connect(settings, path)
    name = embedded.name(settings)
    asked = context_size(server.url, server.key, name, settings.local_timeout) or settings.embedded_context
    chat, utility = embedded_roles(settings, known)
    return Found(
        kind="embedded",
        url=server.url,
        key=server.key,
        chat_model=name,
        utility_model=name,
        chat=chat,
        utility=utility,
        context_size=min(asked, settings.context_size or asked),
        label=f"{name} (embedded)",
    )


def embedded_roles(settings: Settings, known: Weights | None) -> tuple[Choice, Choice]:
    """What the embedded model is trusted with as the one that answers and beside that. ``known``: its entry; None: the
    user's own file. One slot serves everything, so side calls would push the conversation out of it."""
    chat = choose(settings.model_profile, known=known.profile if known else SMALL, takes_tools=settings.native_tools)
    side = chat if settings.model_profile != "auto" else Choice(SMALL, "one_slot")
    return chat, _side(side, settings)


# --- the roles ----------------------------------------------------------------------------------


def _role(found: Found, role: str, settings: Settings, begun: Prefixes | None) -> BaseChatModel:
    """The client of one role. Side work is deterministic where the server is known to allow it."""
    limited = found.kind == "embedded" or "answer_tokens" in settings.model_fields_set
    sampling = found.chat.profile.sampling if role == "chat" else None
    model = client.chat(
        found.url,
        found.key,
        found.utility_model if role == "utility" else found.chat_model,
        settings=settings,
        extra_body={**(slot.CALL if begun is not None else {}), **(sampling.body() if sampling else {})} or None,
        max_tokens=settings.answer_tokens if role == "chat" and limited else None,
        temperature=sampling.temperature if sampling else _temperature(found, role),
    )
    if begun is not None:
        _revive(model, found, settings, begun)
    return model


def _prefixes(found: Found, settings: Settings, prefixes: Sequence[Prefix]) -> Prefixes:
    """A prompt with instructions and tools begins in its own way every time, so only a bare one is saved."""

    def connect() -> embedded.Embedded:
        return embedded.connect(settings, weights.ensure(settings))

    settings = _settled(found, settings)
    begun = prefixes if found.chat.profile.prompt == "bare" else ()
    made = Prefixes(begun, connect, weights.ensure(settings), embedded.states(settings))
    made.prepare()
    return made


def _settled(found: Found, settings: Settings) -> Settings:
    """The settings with the weights that were found, whatever came into their folder meanwhile."""
    return default.named(settings, catalogue.CATALOGUE.get(found.chat_model))


def _revive(model: BaseChatModel, found: Found, settings: Settings, begun: Prefixes) -> None:
    """Before each request, start the embedded server again if it died, and have its slot hold how the prompt begins.
    It comes back at the same address, or where somebody took that at another, with another key."""
    settings = _settled(found, settings)

    def alive(request: httpx2.Request) -> None:
        begun.before(request.content)
        now = embedded.connect(settings, weights.ensure(settings))
        if now.url != found.url:
            request.url = httpx2.URL(str(request.url).replace(found.url, now.url, 1))
            request.headers.update({"host": request.url.netloc.decode(), "authorization": f"Bearer {now.key}"})

    requests = getattr(model, "http_client", None)
    if isinstance(requests, httpx2.Client):
        requests.event_hooks = {"request": [alive]}


def _temperature(found: Found, role: str) -> float | None:
    """None: the server's own. Hosted reasoning models take no other, and a gateway's name for one may be any."""
    return 0.0 if role == "utility" and found.kind != "hosted" else None
