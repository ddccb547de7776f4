"""The embedded model's process: llama.cpp's own OpenAI-compatible server on loopback (design 9.7).

``model.embedded.llama_server`` starts it as ``python -m model.embedded.serve``. The process writes its address, key and
pid to ``state.json`` once the model is loaded. It ends by itself a few seconds after its last client process has ended,
also after a crash.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import xllamacpp

import private
from model.file_lock import open_lock, release_lock, try_lock
from text.clean import parse_json

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
BATCH = 64
"""Prompt tokens that the server reads in one go. A stopped call frees its slot only when the current batch is read.
Reading is as fast as with 512; with 32 it is a tenth slower."""
NGRAM = 16
"""Length of a repetition, in tokens. When the answer repeats this many tokens of the conversation, the model gets as
many tokens from there as a draft, which it checks in one go. Copying is faster, other answers are not slower
(decision 8)."""
LINGER = 2.0
_LOOK = 0.5
LOCK_SECONDS = 1.0
"""How long the lock of the server is tried for."""


def serve_embedded_model(arguments: list[str] | None = None) -> None:
    """Serves until no client is left; exits with 1 when the model cannot be loaded, with 3 when another server runs."""
    parser = argparse.ArgumentParser(prog="python -m model.embedded.serve", description="The embedded model's process.")
    parser.add_argument("folder", type=Path, help="what its clients share: locks and state")
    parser.add_argument("weights", help="path of a GGUF file")
    parser.add_argument("--name", required=True, help="what the model is called in answers")
    parser.add_argument("--states", type=Path, required=True, help="folder of saved slot states")
    for option in ("context", "threads"):
        parser.add_argument(f"--{option}", type=int, required=True)
    options = parser.parse_args(arguments)
    running, clients = _take_server_lock(options.folder / "server.lock"), open_lock(options.folder / "clients.lock")
    if running is None:
        sys.exit(3)
    _first_to_go()
    state = options.folder / "state.json"
    server, key = _start_llama_server(options, *_read_earlier_address(state))
    private.write_private_file(
        state, json.dumps({"url": f"{server.listening_address}/v1", "key": key, "pid": os.getpid()})
    )
    _until_alone(clients)
    state.unlink(missing_ok=True)
    os._exit(0)


def _take_server_lock(path: Path) -> int | None:
    """Takes the lock of the one server until this process ends, and writes this process's id into the file. Returns
    None when another server holds the lock for ``LOCK_SECONDS``: whoever only looks whether a server runs shares
    it for a moment (``is_lock_held``)."""
    descriptor, until = open_lock(path), time.monotonic() + LOCK_SECONDS
    while not try_lock(descriptor):
        if time.monotonic() >= until:
            return None
        time.sleep(0.01)
    os.truncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def _first_to_go() -> None:
    """Has the system end this process rather than the app when memory runs out (Linux)."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:
        log.debug("no oom_score_adj here")


def _read_earlier_address(path: Path) -> tuple[int, str]:
    """Returns the port and the key of a server that died, so that its clients go on with this one; else (0, new
    key)."""
    try:
        state = parse_json(path.read_text())
        port, key = int(urlsplit(state["url"]).port or 0), str(state["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, secrets.token_urlsafe(32)
    return (port, key) if _is_free_port(port) else (0, secrets.token_urlsafe(32))


def _is_free_port(port: int) -> bool:
    """Returns whether nobody listens at the port and this process can have it. Connections of the dead server may still
    be closing there."""
    with socket.socket() as probe, socket.socket() as bound:
        if probe.connect_ex((HOST, port)) == 0:
            return False
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            bound.bind((HOST, port))
        except OSError:
            return False
    return True


def _start_llama_server(options: argparse.Namespace, port: int, key: str) -> tuple[xllamacpp.Server, str]:
    """Loads the model and listens; returns when the server is ready."""
    params = build_server_parameters(options.weights, options.name, options.context, options.threads)
    params.slot_save_path = _prepare_states_folder(options.states)
    params.port = port
    params.api_keys = [key]
    try:
        return xllamacpp.Server(params), key
    except RuntimeError as error:
        sys.exit(f"RuntimeError: {error}")


def _prepare_states_folder(path: Path) -> str:
    """Returns the path with a slash at its end, because llama.cpp appends a name directly; "" where the folder cannot
    exist."""
    try:
        private.make_folder(path)
    except OSError as error:
        log.warning("no slot state can be saved: %s", error)
        return ""
    return f"{path}/"


def build_server_parameters(weights: str, name: str, context: int, threads: int) -> xllamacpp.CommonParams:
    """Returns the parameters of a server with one slot: a second caller waits for the first.

    ``cache_ram_mib`` must be 0: with prompts kept beyond the slot, two callers at once end in a loop. Without a memory
    map the process takes a quarter less memory, because llama.cpp keeps its own copy of most weights.
    """
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {name}
    params.hostnames = [HOST]
    params.reuse_port = True
    params.ui = False
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = 0
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    params.speculative.ngram_simple.size_n = params.speculative.ngram_simple.size_m = NGRAM
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.use_jinja = True
    params.warmup = True
    params.verbosity = 2
    return params


def _until_alone(clients: int) -> None:
    """Returns when no client has held the clients' lock for ``LINGER`` seconds; this process then holds the lock.

    A client that comes later waits for this process to end, and starts another server.
    """
    alone: float | None = None
    while True:
        if not try_lock(clients):
            alone = None
        else:
            alone = alone or time.monotonic()
            if time.monotonic() - alone >= LINGER:
                return
            release_lock(clients)
        time.sleep(_LOOK)


if __name__ == "__main__":
    serve_embedded_model()
