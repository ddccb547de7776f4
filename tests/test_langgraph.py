"""``langgraph.json``: LangGraph's own tools can load the graph, without a key and without the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

# As langgraph_cli/cli.py «dev» and langgraph_api/graph.py «_graph_from_spec» do it: the folders of the dependencies go
# on the path, the file is loaded under a name of its own, the variable is looked up.
LOADER = """
import importlib.util, os, sys
path, variable = sys.argv[1].split(":")
sys.path.append(os.getcwd())
spec = importlib.util.spec_from_file_location(path.replace("/", "__").replace(".py", "").lstrip("."), path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
graph = module.__dict__[variable]
print(type(graph).__name__, sorted(graph.nodes), graph.checkpointer, "streamlit" in sys.modules)
"""


def test_the_graph_loads_as_langgraph_loads_it() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    assert all((ROOT / folder).is_dir() for folder in config["dependencies"])
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADER, config["graphs"]["agent"]],
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    nodes = ["__start__", "ask_node", "casual_node", "llm_node", "summary_node", "tool_node"]
    assert done.stdout.strip() == f"CompiledStateGraph {nodes} None False"
