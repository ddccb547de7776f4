"""The formats of other programs, one file each: which files are of it, and the fields of its entries.

Shows ``FORMS`` and ``OPENERS`` to ``world.book``, and ``with_rule`` for entries that an earlier version has read.
May import ``world.book``, ``world.lore`` and ``store.world.record``.
"""

from __future__ import annotations

from collections.abc import Mapping

from store.world.record import LoreEntry
from world.book.form import EntryForm, reread_entry
from world.book.format import agnai, card, novelai, risu, world_info
from world.book.opened import Opener

FORMS: dict[str, EntryForm] = {
    one.name: one for one in (card.FORM, world_info.FORM, risu.FORM, novelai.FORM, agnai.FORM)
}
"""The forms of entries by their names. Earlier versions named the form of cards by its version."""
FORMS |= dict.fromkeys(("card_v2", "card_v3"), card.FORM)
OPENERS: tuple[Opener, ...] = (
    card.open_card,
    risu.open_risu,
    novelai.open_novelai,
    agnai.open_agnai,
    world_info.open_info,
)
"""What looks at a file, one after the other, until one knows it."""


def with_rule(entry: LoreEntry) -> LoreEntry:
    """Returns an entry with its rule; one of an earlier version gets the rule of the file that it came from."""
    form = FORMS.get(str(entry.extra.get("format", "")))
    if entry.rule is not None or form is None or not isinstance(entry.extra.get("entry"), Mapping):
        return entry
    return reread_entry(entry, form)
