"""The stored choice of a model and its key: both belong to the installation and outlive the page.

The choice is a file in the data folder. The key is in the system's keyring where there is one, else in a file of its
own that only this user may read (decision 14). The key is stored with the address that it was entered for, and no
other address gets it.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError

import private
from errors import DiskFull, KeyLocked, StoreUnavailable
from model.choice.choice import KINDS, OPENAI, Choice, Kind
from model.sight import forget_image_refusals
from settings import Settings
from text.clean import parse_json

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

FILE, KEY_FILE = "model.json", "model-key.json"
SERVICE = "Gieok"
RING_SECONDS = 30.0
"""Longest wait for a keyring, which may ask its user for a password."""

Place = Literal["keyring", "file"]
Stamp = tuple[int, int, int]
T = TypeVar("T")
log = logging.getLogger(__name__)


class _Entry(BaseModel):
    """A choice as the file stores it. ``key``: where the key is stored, if the choice has a key of its own."""

    url: str = ""
    chat_model: str = ""
    utility_model: str = ""
    key: Place | None = None


class _File(BaseModel):
    current: Kind | None = None
    hosted: _Entry | None = None
    local: _Entry | None = None
    embedded: _Entry | None = None


class _Secret(BaseModel):
    url: str
    key: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored choices. ``current``: the kind in use, None for the settings' own model; ``choices``: the last choice
    of each kind, without its key; ``place``: where the key is."""

    current: Kind | None = None
    choices: dict[Kind, Choice] = field(default_factory=dict)
    place: Place | None = None

    @property
    def choice(self) -> Choice | None:
        """The choice in use."""
        return self.choices.get(self.current) if self.current else None

    def last(self, kind: Kind) -> Choice:
        """Returns the last choice of this kind, which fills the form at first."""
        return self.choices.get(kind) or Choice(kind)


def load_model_choices(settings: Settings) -> Kept:
    """Returns the stored choices; none where the settings forbid the choice of a model, or the file cannot be read."""
    if not settings.model_choice:
        return Kept()
    try:
        stored = _File.model_validate_json((settings.data_dir / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return Kept()
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        log.warning("the chosen model could not be read: %s", type(error).__name__)
        return Kept()
    choices: dict[Kind, Choice] = {}
    for kind in KINDS:
        if entry := getattr(stored, kind):
            names = {"chat_model": entry.chat_model, "utility_model": entry.utility_model}
            choices[kind] = Choice(kind, entry.url, kept_key=entry.key is not None, **names)
    current = stored.current if stored.current in choices else None
    return Kept(current, choices, stored.hosted.key if stored.hosted else None)


def read_choices_stamp(settings: Settings) -> Stamp | None:
    """Returns a value that changes whenever the stored choices change, also by another process; None while nothing is
    stored."""
    try:
        state = (settings.data_dir / FILE).stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def save_model_choice(settings: Settings, choice: Choice) -> None:
    """Stores this choice and puts it in use; deletes an earlier key for another address.

    Raises ``DiskFull`` and ``StoreUnavailable``; the earlier choice then stays stored.
    """
    stored = load_model_choices(settings)
    place = stored.place if choice.kept_key or choice.kind != "hosted" else None
    if choice.key.get_secret_value():
        place = _keep_key(settings, _Secret(url=hosted_address(choice, settings), key=choice.key.get_secret_value()))
    keyless = replace(choice, key=SecretStr(""), kept_key=choice.kind == "hosted" and place is not None)
    _write_choices(settings, Kept(choice.kind, {**stored.choices, choice.kind: keyless}, place))
    with suppress(OSError):
        forget_image_refusals(settings.data_dir)
    if place is None and stored.place is not None:  # last: if the choice cannot be written, its key stays
        _drop_key(settings)


def restore_settings_model(settings: Settings) -> None:
    """Puts the settings' own model in use again; the entered values stay for the next time. Raises as
    ``save_model_choice`` does."""
    _write_choices(settings, replace(load_model_choices(settings), current=None))


def forget_key(settings: Settings) -> None:
    """Deletes the key; a hosted choice is then no longer in use. Raises as ``save_model_choice`` does."""
    stored = load_model_choices(settings)
    _drop_key(settings)
    choices = dict(stored.choices)
    if "hosted" in choices:
        choices["hosted"] = replace(choices["hosted"], kept_key=False)
    _write_choices(settings, Kept(None if stored.current == "hosted" else stored.current, choices))


def with_key(settings: Settings, choice: Choice) -> Choice:
    """Returns the choice with the key that is stored for its address. May take as long as the keyring's user needs.

    Raises ``KeyLocked`` when the key cannot be read.
    """
    if not choice.kept_key or choice.key.get_secret_value():
        return choice
    place = load_model_choices(settings).place
    secret = _from_ring(settings) if place == "keyring" else _from_file(settings)
    if secret is None or secret.url != hosted_address(choice, settings):
        raise KeyLocked(place=name_key_place(settings, place or "file"))
    return replace(choice, key=SecretStr(secret.key))


def apply_stored_choice(settings: Settings, *, key: bool = True) -> Settings:
    """Returns the settings with the choice in use, for programs without a page. ``key``: whether the program needs the
    key.

    Raises ``KeyLocked``.
    """
    choice = load_model_choices(settings).choice
    if choice is None:
        return settings
    if not key and choice.kept_key:
        choice = replace(choice, key=SecretStr("kept"))  # a placeholder for the key
    return (with_key(settings, choice) if key else choice).apply_to_settings(settings)


def choose_key_place(settings: Settings) -> Place:
    """Returns where a key that is entered now would be stored."""
    return "keyring" if _find_keyring() is not None else "file"


def name_key_place(settings: Settings, place: Place) -> str:
    """Returns the name of a place: the keyring's name or the file's path."""
    ring = _find_keyring() if place == "keyring" else None
    return ring.name if ring is not None else str(settings.data_dir / KEY_FILE)


def hosted_address(choice: Choice, settings: Settings) -> str:
    return (choice.url or settings.openai_base_url or OPENAI).rstrip("/")


def _write_choices(settings: Settings, kept: Kept) -> None:
    entries: dict[Kind, _Entry] = {
        kind: _Entry(
            url=choice.url,
            chat_model=choice.chat_model,
            utility_model=choice.utility_model,
            key=kept.place if kind == "hosted" else None,
        )
        for kind, choice in kept.choices.items()
    }
    stored = _File(current=kept.current, **{str(kind): entry for kind, entry in entries.items()})
    _write_private_file(settings.data_dir / FILE, stored.model_dump_json(indent=1))


def _write_private_file(path: Path, text: str) -> None:
    try:
        private.write_private_file(path, text)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(path=str(path), needed="more", free="none") from error
        raise StoreUnavailable(where=str(path), reason=error.strerror or type(error).__name__) from error


# --- the key ------------------------------------------------------------------------------------


def _keep_key(settings: Settings, secret: _Secret) -> Place:
    """Stores the key in the keyring or, if the keyring refuses or is missing, in the file; returns which. A key in the
    keyring replaces the file."""
    text, path = secret.model_dump_json(), settings.data_dir / KEY_FILE
    if (ring := _find_keyring()) is not None:
        try:
            _call_keyring(lambda: ring.set_password(SERVICE, _name_keyring_account(settings), text))
        except _RingFailed as error:
            log.warning("the keyring did not take the key: %s", error)
        else:
            _remove_stored_file(path)
            return "keyring"
    _write_private_file(path, text)
    return "file"


def _drop_key(settings: Settings) -> None:
    if (ring := _find_keyring()) is not None:
        with suppress(_RingFailed):  # the keyring may never have had the key
            _call_keyring(lambda: ring.delete_password(SERVICE, _name_keyring_account(settings)))
    _remove_stored_file(settings.data_dir / KEY_FILE)


def _remove_stored_file(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(where=str(path), reason=error.strerror or type(error).__name__) from error


def _from_ring(settings: Settings) -> _Secret | None:
    ring = _find_keyring()
    try:
        text = (
            _call_keyring(lambda: ring.get_password(SERVICE, _name_keyring_account(settings)))
            if ring is not None
            else None
        )
    except _RingFailed as error:
        log.warning("the keyring did not give the key: %s", error)
        return None
    return _parse_secret(text)


def _from_file(settings: Settings) -> _Secret | None:
    path = settings.data_dir / KEY_FILE
    private.restrict_to_owner(path)
    try:
        return _parse_secret(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _parse_secret(text: str | None) -> _Secret | None:
    try:
        return _Secret.model_validate(parse_json(text)) if text else None
    except ValueError:  # pydantic's ValidationError too
        return None


def _name_keyring_account(settings: Settings) -> str:
    """Returns the name of the key's owner in the keyring: the installation, by its name and its data folder. Another
    installation on this machine has a key of its own."""
    folder = hashlib.sha256(str(settings.data_dir.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{settings.tenant}:{folder}"


def _find_keyring() -> KeyringBackend | None:
    """Returns the system's keyring; None where there is none, or only one that keeps nothing or keeps it unencrypted
    (keyring gives these a priority below 1)."""
    try:
        import keyring

        ring = keyring.get_keyring()
        return ring if float(ring.priority) >= 1 else None
    except Exception as error:  # a backend of the user's own may raise any error
        log.warning("no keyring: %s", type(error).__name__)
        return None


class _RingFailed(Exception):
    """The error of a keyring that refused, or did not answer."""


def _call_keyring(call: Callable[[], T]) -> T:
    """Returns the result of a keyring call; waits for ``RING_SECONDS`` at most. Raises ``_RingFailed`` with the kind of
    error."""
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # of D-Bus, of the system, of a backend of the user's own
            errors.append(error)

    thread = threading.Thread(target=work, name="keyring", daemon=True)
    thread.start()
    thread.join(RING_SECONDS)
    if results:
        return results[0]
    raise _RingFailed(type(errors[0]).__name__ if errors else "it did not answer")
