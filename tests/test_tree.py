"""The shape of the repository: import directions and fences (design 1.2)."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from string import Template
from typing import get_args

import prompt
from model.modelset import Kind
from tests.table import table

ROOT = Path(__file__).parent.parent

# Top to bottom. A module imports from its own folder and from the rows below it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"app", "cli"}),
    frozenset({"bench"}),
    frozenset({"component", "door"}),
    frozenset({"server"}),
    frozenset({"evaluation"}),
    frozenset({"graph"}),
    frozenset({"memory", "retrieval", "world", "host"}),
    frozenset({"store", "model"}),
    frozenset({"history"}),
    frozenset({"text", "prompt", "settings", "private"}),
    frozenset({"errors"}),
)
# Third-party package: the folders that may import it.
FENCES: dict[str, frozenset[str]] = {
    "streamlit": frozenset({"app", "component"}),
    "langgraph": frozenset({"graph", "store", "retrieval", "world"}),
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "a2a", "fastmcp"), frozenset({"door", "server"})),
    **dict.fromkeys(("mcp", "mcp_types"), frozenset({"door", "server", "host"})),
    "sse_starlette": frozenset({"door"}),
    **dict.fromkeys(("pickle", "cloudpickle", "dill", "shelve", "joblib"), frozenset[str]()),
}
KINDS = frozenset(get_args(Kind))
SHOWING = (
    "component/settings/attempt.py",
    "component/work/in_use.py",
    "component/chat/invitation.py",
    "component/settings/picker.py",
    "component/work/readiness.py",
    "door/terminal/doctor.py",
)
"""Where the kind of a model is asked: what the user chose among, what is being made ready, who has a key to be
tried."""
FAMILY = re.compile(r"\b(qwen|gpt-\d|llama\d|gemma|exaone|smollm|mistral)", re.IGNORECASE)
PRINTING = ("cli.py", "bench/__main__.py")
SHADOWING = ("mcp", "a2a")
DEPTH = {name: depth for depth, row in enumerate(LAYERS) for name in row}


def modules() -> list[Path]:
    """Every Python file of the product: the tests may do what they need to."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
    return sorted(
        path for path in found if path.parts[0] not in ("tests", "docs") and not path.parts[0].startswith(".")
    )


def top(path: PurePosixPath) -> str:
    """The folder, or the stem of a file at the top."""
    return path.parts[0].removesuffix(".py")


def violations(path: PurePosixPath, source: str) -> list[str]:
    """What this module does that the tree forbids, one sentence each."""
    tree = ast.parse(source)
    if top(path) not in DEPTH:
        return [f"{path}: {top(path)} has no place in the layers"]
    checks = (_imports(tree, path), _environment(tree, path), _prints(tree, path), _pickles(tree), _models(tree, path))
    return [f"{path}:{line}: {said}" for check in checks for line, said in check]


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.split(".")[0]


def _imports(tree: ast.AST, path: PurePosixPath) -> Iterator[tuple[int, str]]:
    here = top(path)
    for line, name in _imported(tree):
        if name in DEPTH and name != here and DEPTH[name] <= DEPTH[here]:
            yield line, f"{here} imports {name}, which is not below it"
        if here not in FENCES.get(name, {here}):
            yield line, f"{name} may be imported only in {', '.join(sorted(FENCES[name])) or 'nothing'}"


def _environment(tree: ast.AST, path: PurePosixPath) -> Iterator[tuple[int, str]]:
    if str(path) == "settings.py":
        return
    forbidden, said = {"environ", "environb", "getenv", "putenv"}, "only settings.py reads the environment"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os" and node.attr in forbidden:
            yield node.lineno, said
        if isinstance(node, ast.ImportFrom) and node.module == "os" and {n.name for n in node.names} & forbidden:
            yield node.lineno, said


def _prints(tree: ast.Module, path: PurePosixPath) -> Iterator[tuple[int, str]]:
    if str(path) in PRINTING:
        return
    for statement in tree.body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield node.lineno, f"print belongs in {', '.join(PRINTING)} or a __main__ block"


def _pickles(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.keyword) or node.arg not in ("allow_pickle", "allow_dangerous_deserialization"):
            continue
        if not isinstance(node.value, ast.Constant) or node.value.value is not False:
            yield node.value.lineno, f"{node.arg} reads pickles"


def _models(tree: ast.AST, path: PurePosixPath) -> Iterator[tuple[int, str]]:
    """What a model is trusted with is its profile's, and ``model`` alone chooses that."""
    if top(path) in ("model", "settings"):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("constrained", "decide"):
            yield node.lineno, f".{node.attr} is no question: read the model's profile"
        if isinstance(node, ast.Compare) and str(path) not in SHOWING and _asks_kind(node):
            yield node.lineno, "the kind of a model decides nothing: read its profile"
        if isinstance(node, ast.Compare) and any(FAMILY.search(text) for text in _constants(node)):
            yield node.lineno, "the name of a model decides nothing: read its profile"


def _asks_kind(node: ast.Compare) -> bool:
    of = {side.attr for side in (node.left, *node.comparators) if isinstance(side, ast.Attribute)}
    return "kind" in of and bool(KINDS & set(_constants(node)))


def _constants(node: ast.AST) -> Iterator[str]:
    return (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


@table("path", modules(), ids=str)
def test_module_keeps_its_place(path: Path) -> None:
    assert violations(PurePosixPath(path.as_posix()), (ROOT / path).read_text("utf-8")) == []


def test_every_folder_of_the_product_is_looked_at() -> None:
    assert {top(PurePosixPath(path.as_posix())) for path in modules()} >= {
        "settings",
        "errors",
        "graph",
        "model",
        "prompt",
    }


OPTIONAL = {
    "chromadb",
    "kiwipiepy",
    "psycopg",
    "psycopg_pool",
    "pgvector",
    "playwright",
    "axe_playwright_python",
    "tests",
}
"""Packages that only an extra needs; the code that imports them says how to install them."""


def _normal(package: str) -> str:
    """A package's name as indexes write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def test_every_package_that_is_imported_is_named_in_the_requirements() -> None:
    required = {_normal(line) for line in (ROOT / "requirements.in").read_text("utf-8").splitlines()}
    sources = importlib.metadata.packages_distributions()
    imported = {name for path in modules() for _, name in _imported(ast.parse((ROOT / path).read_text("utf-8")))}
    foreign = imported - set(DEPTH) - sys.stdlib_module_names - OPTIONAL
    assert [name for name in sorted(foreign) if not required & {_normal(each) for each in sources.get(name, ())}] == []


def test_no_folder_shadows_an_sdk() -> None:
    assert [name for name in SHADOWING if (ROOT / name).exists() or (ROOT / f"{name}.py").exists()] == []


@table(
    ("path", "source", "said"),
    [
        ("store/row.py", "from graph.state import ChatState", "store imports graph"),
        ("store/row.py", "import model.weights", "store imports model"),
        ("graph/turn/run.py", "def run():\n    import component.panel", "graph imports component"),
        ("settings.py", "from graph import turn", "settings imports graph"),
        ("errors.py", "import settings", "errors imports settings"),
        ("graph/turn/run.py", "import streamlit as st", "streamlit may be imported only in app, component"),
        ("model/call/client.py", "from langgraph.graph import StateGraph", "langgraph may be imported only in"),
        ("graph/turn/run.py", "from starlette.requests import Request", "starlette may be imported only in door"),
        ("door/tool.py", "import streamlit.web", "streamlit may be imported only in"),
        ("retrieval/index/vectors.py", "import pickle", "pickle may be imported only in nothing"),
        ("retrieval/index/vectors.py", "numpy.load(path, allow_pickle=True)", "allow_pickle reads pickles"),
        (
            "model/call/client.py",
            "import os\nkey = os.environ['OPENAI_API_KEY']",
            "only settings.py reads the environment",
        ),
        (
            "model/call/client.py",
            "import os\nkey = os.getenv('OPENAI_API_KEY')",
            "only settings.py reads the environment",
        ),
        ("model/call/client.py", "from os import environ", "only settings.py reads the environment"),
        ("graph/turn/run.py", "def run():\n    print('here')", "print belongs in"),
        ("graph/turn/run.py", "if models.kind == 'embedded':\n    pass", "the kind of a model decides nothing"),
        ("memory/fold.py", "if models.kind in ('local', 'embedded'):\n    pass", "the kind of a model decides nothing"),
        ("component/panel/panel.py", "x = 1 if models.kind != 'hosted' else 2", "the kind of a model decides nothing"),
        ("retrieval/answer/loop.py", "if models.constrained:\n    pass", ".constrained is no question"),
        ("graph/turn/run.py", "native = models.decide is None", ".decide is no question"),
        ("graph/turn/run.py", "if models.name == 'Qwen3-4B':\n    pass", "the name of a model decides nothing"),
        ("graph/turn/run.py", "if 'gpt-5' in models.name:\n    pass", "the name of a model decides nothing"),
        ("utils/thing.py", "", "utils has no place in the layers"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str, said: str) -> None:
    assert any(said in found for found in violations(PurePosixPath(path), source))


@table(
    ("path", "source"),
    [
        (
            "graph/turn/run.py",
            "from graph.state import ChatState\nfrom store.session import Session\nimport langgraph.types",
        ),
        ("model/embedded/weights.py", "import os\nos.replace(a, b)\nif __name__ == '__main__':\n    print('ready')"),
        ("cli.py", "import graph.turn\nprint('hello')"),
        ("component/panel/panel.py", "import streamlit as st\nconsole.print('x')"),
        ("retrieval/index/vectors.py", "numpy.load(path, allow_pickle=False)"),
        ("component/settings/picker.py", "if mine.choice.kind == 'embedded':\n    pass"),
        ("graph/turn/run.py", "if models.profile.tools == 'native' and passage.kind == 'faq':\n    pass"),
        ("model/choice/resolve.py", "if found.kind == 'embedded':\n    pass"),
    ],
)
def test_what_is_allowed_passes(path: str, source: str) -> None:
    assert violations(PurePosixPath(path), source) == []


def _variables(name: str, language: str) -> set[str]:
    text = (ROOT / "prompt" / language / f"{name}.md").read_text("utf-8")
    return set(Template(text).get_identifiers())


def test_prompts_exist_in_every_language() -> None:
    by_language = {language: prompt.list_prompt_names(language) for language in prompt.LANGUAGES}
    assert all(names == prompt.list_prompt_names("en") for names in by_language.values()), by_language


@table("name", prompt.list_prompt_names("en"))
def test_a_prompt_takes_the_same_variables_in_every_language(name: str) -> None:
    assert _variables(name, "ko") == _variables(name, "en")
