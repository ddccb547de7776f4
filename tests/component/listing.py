"""The list of conversations in ``AppTest``, which draws no component: what it is given, and events as a browser sends
them."""

from __future__ import annotations

import json
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from component.sidebar.session_list import KEY


def listed(at: AppTest) -> dict[str, Any]:
    """What the list shows."""
    return dict(json.loads(_proto(at).bytes))


def titles(at: AppTest) -> list[str]:
    """The titles of the rows that lie in no folder, in their order."""
    return [row["title"] for group in listed(at)["groups"] for row in group["rows"]]


def act(at: AppTest, do: str, **more: Any) -> AppTest:
    """Chooses an action of a row's menu, of the selection or of a folder."""
    return _event(at, "act", {"do": do, **more})


def go(at: AppTest, session: str, number: int | None = None, branch: int | None = None) -> AppTest:
    """Opens a row, or a hit at its turn."""
    return _event(at, "open", {"id": session, "number": number, "branch": branch})


def look(at: AppTest, query: str = "", folder: str = "") -> AppTest:
    """Types into the search, or opens a folder."""
    value = json.dumps({"look": {"query": query, "counts": {"": 30, folder: 30}}})
    return _run(at, WidgetState(id=_proto(at).id, json_value=value))


def _event(at: AppTest, name: str, value: dict[str, Any]) -> AppTest:
    return send_event(at, KEY, name, value)


def send_event(at: AppTest, key: str, name: str, value: dict[str, Any]) -> AppTest:
    """Sends an event of a component, as its script does, and runs the page."""
    own = f"$$STREAMLIT_INTERNAL_KEY_{_proto(at, key).id}__events"
    return _run(at, WidgetState(id=own, json_trigger_value=json.dumps([{"event": name, "value": value}])))


def _run(at: AppTest, state: WidgetState) -> AppTest:
    states = at._tree.get_widget_states()
    states.widgets.append(state)
    at._run(states)
    assert not at.exception
    return at


def _proto(at: AppTest, key: str = KEY) -> Any:
    (found,) = (each.proto for each in at.get("bidi_component") if each.key == key)
    return found
