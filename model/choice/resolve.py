"""Which model is used: hosted with a key, else a local server that answers, else the embedded one (design 9.2)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

import httpx2
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from errors import BadSetting, KeyRejected, ModelsUnlisted, ModelTimeout, ModelUnreachable, hide_address_secrets
from model.call import token
from model.call.abort import run_beside_call
from model.call.stream import stream_answer
from model.choice import default
from model.choice.choice import OPENAI
from model.choice.probe import (
    Listed,
    ListingRefusal,
    ServerFacts,
    fetch_model_facts,
    fetch_page_facts,
    list_server_models,
)
from model.embedded import catalogue, llama_server, slot, weights
from model.embedded.catalogue import WeightsFile
from model.embedded.prefix import Prefix, Prefixes
from model.endpoint import Found
from model.modelset import Kind, ModelSet, SideModel
from model.profile import SMALL, ProfileChoice, choose_model_profile, written_by_model
from model.raw import RawClient, Upstream
from model.sight import Sight, has_refused_images, keep_image_refusal
from settings import Settings, find_variable_name

OPENAI_MODEL = "gpt-5-mini"
OPENAI_UTILITY = "gpt-5-nano"
"""The model for side work (specification 11.1); only OpenAI itself has it."""
CONTEXT = 128_000
_HOSTED_TIMEOUT = 10.0
_CHECK_TIMEOUT = 5.0
_NO_CHAT = re.compile(
    r"embed|rerank|whisper|\btts\b|dall-e|moderation|minilm|(^|[/:_-])(bge|e5|gte|nomic|clip)-", re.IGNORECASE
)

LOCAL_SECONDS = 0.5
"""How long each local server may take to answer while one is looked for."""

Offered = tuple[Listed, ...]
Report = Callable[[weights.FetchProgress], None]


def resolve_models(
    settings: Settings,
    progress: Report | None = None,
    cancel: threading.Event | None = None,
    prefixes: Sequence[Prefix] = (),
) -> ModelSet:
    """Returns the models that the settings ask for, ready to answer: the first answer can begin at once.

    May take minutes the first time, because weights are downloaded and a model loads. ``progress`` follows the download
    of weights, ``cancel`` stops it. ``prefixes``: the beginnings of prompts, that of the interface's language first;
    the embedded model has read the first one when this function returns. Raises what ``find_endpoint`` raises.
    """
    found = find_endpoint(settings, progress, cancel)
    prompt_beginnings = _prepare_prefixes(found, settings, prefixes) if found.kind == "embedded" else None
    lookup = _make_server_lookup(found, settings) if found.kind == "embedded" else None
    count, exact = token.choose_token_counter(found, lookup)
    chat = _build_role_model(found, "chat", settings, prompt_beginnings)
    return ModelSet(
        chat=chat,
        utility=_build_role_model(found, "utility", settings, prompt_beginnings),
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
        utility_why=_utility_why(found, settings),
        read=partial(_read_prompt_ahead, chat)
        if prompt_beginnings is not None and found.chat.profile.prompt == "bare"
        else None,
        raw=_build_raw_client(found, settings, prompt_beginnings),
        curator=_build_role_model(found, "curator", settings, prompt_beginnings) if found.curator_model else None,
        curator_profile=found.curator.profile if found.curator else None,
        connect=_make_connection_hook(found, settings, lookup, count) if lookup is not None else None,
        sight=Sight(partial(keep_image_refusal, settings.data_dir, found.url, found.chat_model)),
    )


def find_endpoint(settings: Settings, progress: Report | None = None, cancel: threading.Event | None = None) -> Found:
    """Returns the endpoint to use; starts the embedded server when the settings lead to the embedded model.

    Raises ``BadSetting``, ``ModelUnreachable``, ``KeyRejected``, or what ``weights.ensure_weights`` and
    ``llama_server.connect_embedded_server`` raise.
    """
    if _hosted_wanted(settings):
        return _resolve_hosted(settings)
    local = _resolve_local(settings)
    return local or _resolve_embedded(settings, progress, cancel)


def needs_weights(settings: Settings) -> bool:
    """Returns whether the embedded model will be used and its weights are still missing."""
    if _hosted_wanted(settings) or weights.has_ready_weights(settings):
        return False
    return settings.provider == "embedded" or (settings.provider == "auto" and _first_local(settings) is None)


def list_local_servers(settings: Settings) -> list[tuple[str, tuple[str, ...]]]:
    """Returns every address of a local server with the names of its chat models; no names where no server answers."""
    return [(url, tuple(model.name for model in offered)) for url, offered in list_local(settings)]


def listed_models(settings: Settings) -> tuple[str, ...]:
    """Returns the sorted names of the models at the hosted address, without those that the server says do not chat.

    Raises ``KeyRejected``, ``ModelUnreachable``, ``ModelTimeout``, and ``ModelsUnlisted`` where the server has no list.
    """
    return tuple(sorted({model.name for model in list_hosted(settings)}))


def list_hosted(settings: Settings) -> Offered:
    """Returns the models at the hosted address as ``listed_models`` does, with what the server tells of them. Raises
    as it does."""
    url, key = _hosted_address(settings)
    try:
        offered = list_server_models(url, key, _HOSTED_TIMEOUT)
    except ListingRefusal as error:
        if error.status in (401, 403):
            raise KeyRejected(url=url, status=error.status) from error
        if error.late:
            raise ModelTimeout(url=url, seconds=_HOSTED_TIMEOUT) from error
        raise (ModelUnreachable(url=url) if error.status is None else ModelsUnlisted(url=url)) from error
    if not offered:
        raise ModelsUnlisted(url=url)
    return tuple(model for model in offered if model.chats is not False)


def check_key(settings: Settings) -> None:
    """Asks the hosted server whether it takes the key, by listing its models, which costs nothing.

    Raises ``KeyRejected``. Raises nothing where the server does not answer or has no list: the key then stays
    unchecked.
    """
    if not _hosted_wanted(settings):
        return
    url, key = _hosted_address(settings)
    try:
        list_server_models(url, key, _CHECK_TIMEOUT)
    except ListingRefusal as error:
        if error.status in (401, 403):
            raise KeyRejected(url=url, status=error.status) from error


# --- the three kinds ----------------------------------------------------------------------------


def _hosted_wanted(settings: Settings) -> bool:
    configured = bool(settings.openai_api_key or settings.openai_base_url)
    if settings.provider == "hosted" and not configured:
        reason = "GIEOK_PROVIDER=hosted needs a key, or OPENAI_BASE_URL for a server without one"
        raise BadSetting(name=find_variable_name("openai_api_key"), value="", reason=reason, reason_code="no_key")
    return settings.provider == "hosted" or (settings.provider == "auto" and configured)


def _resolve_hosted(settings: Settings) -> Found:
    """Returns the hosted endpoint. Asks the server only for facts that the settings leave open, and never asks
    OpenAI."""
    url, key = _hosted_address(settings)
    name = settings.chat_model or (OPENAI_MODEL if url == OPENAI else None)
    offered: Offered = ()
    if url != OPENAI and (name is None or settings.context_size is None):
        offered = _fetch_hosted_models(url, key, needed=name is None)
    return _build_found_endpoint("hosted", url, key, name, offered, settings)


def _hosted_address(settings: Settings) -> tuple[str, str]:
    """Returns the address and the key of the hosted server."""
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    return (settings.openai_base_url or OPENAI).rstrip("/"), key


def _fetch_hosted_models(url: str, key: str, *, needed: bool) -> Offered:
    """Returns the chat models that the hosted server lists; raises errors only when the list is ``needed``."""
    try:
        offered = find_chat_models(list_server_models(url, key, _HOSTED_TIMEOUT))
    except ListingRefusal as error:
        if needed and error.status in (401, 403):
            raise KeyRejected(url=url, status=error.status) from error
        if needed and error.status is None:
            raise ModelUnreachable(url=url) from error
        offered = ()
    if needed and not offered:
        reason = f"the server at {url} lists no chat model, so the name must be given"
        raise BadSetting(
            name=find_variable_name("chat_model"), value="", reason=reason, reason_code="no_model", url=url
        )
    return offered


def _resolve_local(settings: Settings) -> Found | None:
    """Returns the first local server that has a chat model; None when another kind of model may be used instead."""
    if settings.provider == "embedded":
        return None
    first = _first_local(settings)
    if first is None:
        if settings.provider == "local":
            raise ModelUnreachable(url=", ".join(settings.local_servers) or "(no address is set)")
        return None
    return _build_found_endpoint("local", first[0], "", settings.chat_model, first[1], settings)


def _first_local(settings: Settings) -> tuple[str, Offered] | None:
    """Returns the address and the chat models of the first local server, in the order of the settings.

    Asks all servers at once. With CHAT_MODEL set, servers that have that model go before the others.
    """
    answering = [(url, offered) for url, offered in list_local(settings) if offered]
    matching = [server for server in answering if settings.chat_model in {model.name for model in server[1]}]
    return next(iter(matching or answering), None)


def list_local(settings: Settings) -> list[tuple[str, Offered]]:
    """Returns every address of a local server with its chat models; none where no server answers in time."""
    urls = [url.rstrip("/") for url in settings.local_servers]
    if not urls:
        return []
    with ThreadPoolExecutor(len(urls)) as pool:
        return list(zip(urls, pool.map(partial(_ask_chat_models, timeout=LOCAL_SECONDS), urls), strict=True))


def _ask_chat_models(url: str, timeout: float) -> Offered:
    try:
        return find_chat_models(list_server_models(url, "", timeout))
    except ListingRefusal:
        return ()


def find_chat_models(offered: Offered) -> Offered:
    """Returns the models that the server says do chat; where it says nothing, those whose names do not say
    otherwise."""
    return tuple(
        model for model in offered if (model.chats if model.chats is not None else not _NO_CHAT.search(model.name))
    )


def _build_found_endpoint(
    kind: Kind, url: str, key: str, chosen: str | None, offered: Offered, settings: Settings
) -> Found:
    name = chosen or offered[0].name
    size = settings.context_size or next((model.context for model in offered if model.name == name), None)
    pages = ServerFacts()
    if url != OPENAI and (size is None or kind == "local"):
        pages = fetch_page_facts(url, key, name, LOCAL_SECONDS)
    utility = settings.utility_model or (OPENAI_UTILITY if url == OPENAI else name)
    curator = settings.curator_model or name
    names = dict.fromkeys((name, utility, curator))
    choices = {
        model_name: _choose_server_profile(
            *(kind, url, key, model_name, offered, settings), pages=pages if model_name == name else ServerFacts()
        )
        for model_name in names
    }
    return Found(
        kind=kind,
        url=url,
        key=key,
        chat_model=name,
        utility_model=utility,
        chat=choices[name],
        utility=_adapt_side_profile(choices[utility], settings),
        context_size=size or pages.context or CONTEXT,
        label=f"{name} ({urlsplit(hide_address_secrets(url)).netloc})",
        curator_model="" if curator == name else curator,
        curator=choices[curator],
    )


def _utility_why(found: Found, settings: Settings) -> SideModel:
    """Returns why side work uses its model: the settings name it, OpenAI has a model for it, or there is no other."""
    if found.kind == "embedded" or found.utility_model == found.chat_model:
        return "same"
    return "named" if settings.utility_model else "openai"


def _choose_server_profile(
    kind: Kind, url: str, key: str, name: str, offered: Offered, settings: Settings, *, pages: ServerFacts
) -> ProfileChoice:
    """Returns the profile of a server's model. A hosted model takes tools; a local server may tell that its model takes
    none, and the model's size. A model takes images unless its server tells otherwise, or has refused one before.
    ``pages``: what the server's own pages tell of it."""
    facts = fetch_model_facts(url, key, name, LOCAL_SECONDS) if kind == "local" else ServerFacts()
    listed = next((model for model in offered if model.name == name), Listed(name, None))
    takes_tools = facts.takes_tools if settings.native_tools is None else settings.native_tools
    size = facts.parameters or listed.parameters
    images = (facts.takes_images, listed.takes_images, pages.takes_images)
    takes_images = next((known for known in images if known is not None), None)
    if takes_images is None and has_refused_images(settings.data_dir, url, name):
        takes_images = False
    return choose_model_profile(
        settings.model_profile, parameters=size, takes_tools=takes_tools, takes_images=takes_images
    )


def _adapt_side_profile(choice: ProfileChoice, settings: Settings) -> ProfileChoice:
    """Returns the profile of side calls, adapted to the setting for summaries."""
    return written_by_model(choice) if settings.summaries == "model" else choice


def _resolve_embedded(settings: Settings, progress: Report | None, cancel: threading.Event | None) -> Found:
    path = weights.ensure_weights(settings, progress or (lambda _: None), cancel)
    known = None if settings.embedded_path else catalogue.by_file(path.name)
    settings = default.fill_weights_settings(settings, known)
    server = llama_server.connect_embedded_server(settings, path)
    name = llama_server.name_embedded_model(settings)
    context = fetch_page_facts(server.url, server.key, name, LOCAL_SECONDS).context or settings.embedded_context
    chat, utility = embedded_roles(settings, known)
    return Found(
        kind="embedded",
        url=server.url,
        key=server.key,
        chat_model=name,
        utility_model=name,
        chat=chat,
        utility=utility,
        context_size=min(context, settings.context_size or context),
        label=f"{name} (embedded)",
    )


def embedded_roles(settings: Settings, known: WeightsFile | None) -> tuple[ProfileChoice, ProfileChoice]:
    """Returns the embedded model's profiles for answers and for side calls. ``known``: the weights' entry in the
    catalogue; None for the user's own file. By default side calls get the small profile: one slot serves all calls, so
    side calls would push the conversation out of it."""
    chat = choose_model_profile(
        settings.model_profile, known=known.profile if known else SMALL, takes_tools=settings.native_tools
    )
    side = chat if settings.model_profile != "auto" else ProfileChoice(SMALL, "one_slot")
    return chat, _adapt_side_profile(side, settings)


# --- the roles ----------------------------------------------------------------------------------


def _build_role_model(found: Found, role: str, settings: Settings, begun: Prefixes | None) -> BaseChatModel:
    """Returns the client of one role. Side work is deterministic where the server is known to allow it."""
    limited = found.kind == "embedded" or "answer_tokens" in settings.model_fields_set
    sampling = found.chat.profile.sampling if role == "chat" else None
    from model.call import client  # with OpenAI's package: half a second, when a model is first needed

    name = {"utility": found.utility_model, "curator": found.curator_model}.get(role, found.chat_model)
    model = client.build_chat_model(
        client.ModelAddress(found.url, found.key, name),
        settings=settings,
        extra_body={**(slot.CALL if begun is not None else {}), **(sampling.body() if sampling else {})} or None,
        max_tokens=settings.answer_tokens if role == "chat" and limited else None,
        temperature=sampling.temperature if sampling else _choose_temperature(found, role),
        keep=found.kind == "hosted",
    )
    if begun is not None:
        _add_revival_hook(model, found, settings, begun)
    return model


def _build_raw_client(found: Found, settings: Settings, begun: Prefixes | None) -> RawClient:
    """Returns the way for clients' own requests to the chat model: on its slot, where it has one."""
    fields = slot.CALL if begun is not None else {}
    alive = _make_revival_hook(found, settings, begun) if begun is not None else None
    keep, only = found.kind == "hosted", found.kind == "embedded"
    seconds = settings.model_timeout
    return RawClient(Upstream(found.url, found.key, found.chat_model, seconds, fields, keep, only, alive))


def _read_prompt_ahead(model: BaseChatModel, messages: Sequence[BaseMessage], stop: threading.Event) -> None:
    """Has the slot read the prompt; drops the answer at its first token."""
    for _ in stream_answer(model, list(messages), stop=stop, max_tokens=1):
        return


def _prepare_prefixes(found: Found, settings: Settings, prefixes: Sequence[Prefix]) -> Prefixes:
    """Prepares the saved beginnings of prompts. Only bare prompts have one: a prompt with instructions and tools begins
    differently every time."""

    def connect() -> llama_server.Embedded:
        return llama_server.connect_embedded_server(settings, weights.ensure_weights(settings))

    settings = _settle_weights(found, settings)
    usable = prefixes if found.chat.profile.prompt == "bare" else ()
    prompt_beginnings = Prefixes(
        usable, connect, weights.ensure_weights(settings), llama_server.locate_slot_states(settings)
    )
    prompt_beginnings.prepare()
    return prompt_beginnings


def _settle_weights(found: Found, settings: Settings) -> Settings:
    """Returns the settings with the weights of ``found``, whatever weights have come into the folder meanwhile."""
    return default.fill_weights_settings(settings, catalogue.CATALOGUE.get(found.chat_model))


def _make_server_lookup(found: Found, settings: Settings) -> token.Lookup:
    """Returns a function that finds the embedded server while this process is its client."""
    settings = _settle_weights(found, settings)
    find_server = llama_server.make_server_lookup(settings, weights.ensure_weights(settings))

    def look_up() -> tuple[str, str] | None:
        server = find_server()
        return (server.url, server.key) if server is not None else None

    return look_up


def _make_connection_hook(
    found: Found, settings: Settings, lookup: token.Lookup, count: Callable[[str], int]
) -> Callable[[], None]:
    """Returns a function that starts the embedded server again if it was released or died; ``count`` then asks it."""
    settings = _settle_weights(found, settings)

    def connect() -> None:
        if lookup() is None:  # else it costs no thread
            run_beside_call(lambda: llama_server.connect_embedded_server(settings, weights.ensure_weights(settings)))
        if isinstance(count, token.Tokenizer):
            count.resume_look_ups()

    return connect


def _add_revival_hook(model: BaseChatModel, found: Found, settings: Settings, begun: Prefixes) -> None:
    """Adds ``_make_revival_hook`` to a model's requests."""
    http_client = getattr(model, "http_client", None)
    if isinstance(http_client, httpx2.Client):
        http_client.event_hooks = {"request": [_make_revival_hook(found, settings, begun)]}


def _make_revival_hook(found: Found, settings: Settings, begun: Prefixes) -> Callable[[httpx2.Request], None]:
    """Returns a hook that runs before each request: it restores the beginning of the prompt in the slot, and starts the
    embedded server again if it died. The server comes back at the same address. Where that is taken, it comes back at
    another address with another key."""
    settings = _settle_weights(found, settings)

    def ready(content: bytes) -> llama_server.Embedded:
        begun.before(content)
        return llama_server.connect_embedded_server(settings, weights.ensure_weights(settings))

    def alive(request: httpx2.Request) -> None:
        server = run_beside_call(partial(ready, request.content))  # a stop does not wait for a server that is starting
        if server.url != found.url:
            request.url = httpx2.URL(str(request.url).replace(found.url, server.url, 1))
            request.headers.update({"host": request.url.netloc.decode(), "authorization": f"Bearer {server.key}"})

    return alive


def _choose_temperature(found: Found, role: str) -> float | None:
    """Returns 0 for side calls of local and embedded models; None for the server's own temperature. Hosted reasoning
    models take no other, and a gateway may give such a model any name."""
    return 0.0 if role == "utility" and found.kind != "hosted" else None
