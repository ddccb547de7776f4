"""What an author's rule says, in a line of words."""

from __future__ import annotations

from component.page.catalogue import Words
from world.lore.rule import SCAN_DEPTH, Rule


def summarize_rule(words: Words, rule: Rule) -> str:
    """Returns what a rule says beside its plain keys; empty for one that says nothing else."""
    told = [words(f"world.rule.{name}") for name in ("constant", "vectorized", "keeps", "once") if getattr(rule, name)]
    told += [words("world.rule.patterns", keys=", ".join(rule.patterns))] if rule.patterns else []
    if rule.secondary and rule.selective:
        told.append(words(f"world.rule.logic.{rule.logic}", keys=", ".join(rule.secondary)))
    told += [words("world.rule.required", keys=", ".join(keys)) for keys in rule.required]
    told += [words("world.rule.excluded", keys=", ".join(keys)) for keys in (*rule.excluded, *rule.excluded_all)]
    told += [words("world.rule.scan_depth", count=rule.scan_depth)] if rule.scan_depth != SCAN_DEPTH else []
    told += [words("world.rule.chance", count=f"{rule.chance:g}")] if rule.chance < 100 else []
    for name in ("sticky", "cooldown", "delay", "after_answers", "every_answers"):
        told += [words(f"world.rule.{name}", count=getattr(rule, name))] if getattr(rule, name) else []
    told += [words("world.rule.groups", names=", ".join(rule.groups))] if rule.groups else []
    told += [words(f"world.rule.forced.{rule.forced}")] if rule.forced else []
    return " · ".join(told)
