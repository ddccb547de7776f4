"""The groups of ``bench real``: files, dates and words as people really have them. A new group is one file here, with
``judge(args)``, and one line in ``bench.real.GROUPS``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of a group, judged.

    ``table``: the name of the table that the row belongs to. ``case``: what was tried, in few words. ``right``: whether
    the right thing came out. ``unseen``: whether the row was written after what it measures was done. ``outcome``: what
    came out, for the list of wrong rows.
    """

    table: str
    case: str
    right: bool
    unseen: bool = False
    outcome: str = ""
