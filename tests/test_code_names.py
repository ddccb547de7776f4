"""The names of functions and classes say what they do, and a folder can be read in one look.

A function begins with a verb and names what it acts on; a name stands once, so that a search finds one thing: held by
the syntax tree of the product. The bounds only ever fall; ``pytest -s`` prints the figures.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOT_PRODUCT = ("tests", "bench", "docs")
MOST_ONE_WORD = 0.30
"""Share of functions and methods whose name is one word: methods of small, clear classes."""
MOST_SHARED = 0.02
"""Share of module functions whose name stands in another file, too."""
MOST_WIDE = 3
"""Functions of more than seven parameters, without the commands of ``cli.py``: there a parameter is an option."""
MOST_MODULES = 14
"""Modules of a folder, without its ``__init__.py``."""
LISTS = {
    "bench": "one file for each measurement, all of one form; ``python -m bench`` lists them",
    "retrieval/read/format": "one reader for each format, all of one form; ``retrieval.read.load.KINDS`` lists them",
}
"""Folders that hold more, and why: who reads one of their modules needs none of the others."""
IRREGULAR = {
    *("told", "said", "made", "kept", "given", "begun", "found", "shown", "taken", "written", "sent", "lost", "held"),
    *(
        "left",
        "met",
        "seen",
        "known",
        "gone",
        "done",
        "drawn",
        "grown",
        "thrown",
        "spoken",
        "chosen",
        "broken",
        "woken",
    ),
    *(
        "hidden",
        "bound",
        "built",
        "bought",
        "brought",
        "caught",
        "felt",
        "laid",
        "led",
        "meant",
        "paid",
        "sold",
        "slept",
    ),
    *(
        "spent",
        "spread",
        "stood",
        "stuck",
        "struck",
        "sunk",
        "swept",
        "taught",
        "thought",
        "understood",
        "won",
        "wound",
    ),
    *("worn", "sworn", "torn", "born"),
}
VERBS_IN_ED = {"feed", "seed", "speed", "embed", "need", "shed", "thread", "spread"}


@dataclass
class CodeNames:
    """The names of the product: ``functions`` with their file and whether they are a module's own; ``classes``."""

    functions: list[tuple[str, str, bool]] = field(default_factory=list)
    classes: list[tuple[str, str]] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)


@cache
def read_code_names() -> CodeNames:
    found = CodeNames()
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] in NOT_PRODUCT or place.parts[0].startswith("."):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        own = {id(statement) for statement in tree.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.classes.append((str(place), node.name))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                found.functions.append((str(place), node.name, id(node) in own))
                given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if len([one for one in given if one.arg not in ("self", "cls")]) > 7 and str(place) != "cli.py":
                    found.wide.append(f"{place}: {node.name}")
    return found


def is_participle(name: str) -> bool:
    word = name.strip("_").lower()
    if not word or "_" in word or word in VERBS_IN_ED:
        return False
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 4)


def test_no_function_is_named_by_a_bare_participle() -> None:
    assert [(file, name) for file, name, _ in read_code_names().functions if is_participle(name)] == []


def test_a_class_stands_once_in_the_product() -> None:
    count = Counter(name for _, name in read_code_names().classes if not name.startswith("_"))
    assert sorted(name for name, times in count.items() if times > 1) == []


def test_a_function_of_a_module_is_found_under_its_name_in_one_file() -> None:
    files = defaultdict[str, set[str]](set)
    own = [(file, name) for file, name, is_own in read_code_names().functions if is_own]
    for file, name in own:
        files[name].add(file)
    shared = sorted(name for _, name in own if len(files[name]) > 1)
    print(f"names of module functions that stand in another file: {len(shared) / len(own):.3f}")  # noqa: T201
    assert len(shared) <= MOST_SHARED * len(own), shared


def test_most_functions_name_what_they_act_on() -> None:
    functions = read_code_names().functions
    bare = [(file, name) for file, name, is_own in functions if "_" not in name.strip("_") and is_own]
    share = sum("_" not in name.strip("_") for _, name, _ in functions) / len(functions)
    print(f"names of one word: {share:.3f}, {len(bare)} of them functions of modules")  # noqa: T201
    assert share <= MOST_ONE_WORD
    assert len(bare) <= 20, bare


def test_few_functions_take_more_than_seven_parameters() -> None:
    assert len(read_code_names().wide) <= MOST_WIDE, read_code_names().wide


def test_a_participle_is_told_from_a_verb() -> None:
    assert [name for name in ("told", "_kept", "asked", "embed", "load_asked", "read") if is_participle(name)] == [
        *("told", "_kept", "asked")
    ]


def count_modules() -> dict[str, int]:
    """The number of modules in each folder of the product and of the benches."""
    places = (path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.name != "__init__.py")
    inside = (place for place in places if place.parts[0] not in ("tests", "docs") and place.parts[0][0] != ".")
    return Counter(place.parent.as_posix() for place in inside)


def test_a_folder_holds_few_modules() -> None:
    large = {folder: modules for folder, modules in count_modules().items() if modules > MOST_MODULES}
    assert {folder: modules for folder, modules in large.items() if folder not in LISTS} == {}
    assert sorted(large) == sorted(LISTS), "a folder that holds few modules again is no exception"
