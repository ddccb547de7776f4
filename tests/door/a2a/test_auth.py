"""Who may ask: every method, without a key, with a wrong one, and with another user's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.door.a2a.place import Json, Place, message03, words

V1 = {"a2a-version": "1.0"}
MESSAGE: Json = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
PUSH = {"url": "http://example.com/hook"}
METHODS: list[tuple[str, dict[str, str], Any]] = [
    ("SendMessage", V1, lambda task: {"message": {**MESSAGE, "taskId": task}}),
    ("SendStreamingMessage", V1, lambda task: {"message": {**MESSAGE, "taskId": task}}),
    ("GetTask", V1, lambda task: {"id": task}),
    ("CancelTask", V1, lambda task: {"id": task}),
    ("SubscribeToTask", V1, lambda task: {"id": task}),
    ("CreateTaskPushNotificationConfig", V1, lambda task: {"taskId": task, **PUSH}),
    ("GetTaskPushNotificationConfig", V1, lambda task: {"taskId": task, "id": task}),
    ("ListTaskPushNotificationConfigs", V1, lambda task: {"taskId": task}),
    ("DeleteTaskPushNotificationConfig", V1, lambda task: {"taskId": task, "id": task}),
    ("message/send", {}, lambda task: {"message": message03("hi", taskId=task)}),
    ("message/stream", {}, lambda task: {"message": message03("hi", taskId=task)}),
    ("tasks/get", {}, lambda task: {"id": task}),
    ("tasks/cancel", {}, lambda task: {"id": task}),
    ("tasks/resubscribe", {}, lambda task: {"id": task}),
    ("tasks/pushNotificationConfig/set", {}, lambda task: {"taskId": task, "pushNotificationConfig": PUSH}),
    ("tasks/pushNotificationConfig/get", {}, lambda task: {"id": task, "pushNotificationConfigId": task}),
    ("tasks/pushNotificationConfig/list", {}, lambda task: {"id": task}),
    ("tasks/pushNotificationConfig/delete", {}, lambda task: {"id": task, "pushNotificationConfigId": task}),
    ("tasks/pushNotification/set", {}, lambda task: {"id": task, "pushNotificationConfig": PUSH}),
    ("tasks/pushNotification/get", {}, lambda task: {"id": task}),
]
REST = [
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks/{}"),
    ("POST", "/tasks/{}:cancel"),
    ("GET", "/tasks/{}:subscribe"),
    ("GET", "/tasks"),
    ("GET", "/v1/tasks/{}"),
    ("POST", "/v1/message:send"),
]


@pytest.fixture(params=["user", "key"])
def two(opened: Place, request: pytest.FixtureRequest) -> tuple[Place, Place]:
    """The same service as the users ann and bob; or as ann with two keys, of which bob's opens nothing but what was
    made with it."""
    keys = opened.agent.store.api_keys
    other = keys.add("two", "bob") if request.param == "user" else keys.add("two", "ann", memory=False)
    return opened.as_user(keys.add("one", "ann")), opened.as_user(other)


@pytest.mark.parametrize("key", ["", "gk-0000000000-wrong", "nonsense"])
def test_without_a_right_key_nothing_is_answered_but_the_cards(two: tuple[Place, Place], key: str) -> None:
    nobody = two[0].as_user(key)
    for method, headers, params in METHODS:
        for path in ("/a2a", "/a2a/"):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params("t")}
            refused = nobody.post(body, path, **headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), method
    for verb, path in REST:
        refused = nobody.get(f"/a2a/rest{path.format('t')}") if verb == "GET" else nobody.post({}, f"/a2a/rest{path}")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), path
    assert nobody.agent.store.everyone.tasks.page(10) == ([], 0)
    for path in ("/.well-known/agent-card.json", "/.well-known/agent.json"):
        assert nobody.get(path).status_code == 200


def test_another_users_task_does_not_exist(two: tuple[Place, Place]) -> None:
    ann, bob = two
    ann.early("tasks/send", id="t", sessionId="ann's", message=words("ann's secret"))
    rpc = ann.rpc("SendMessage", {"message": MESSAGE}, **V1)["result"]["task"]
    (early, *_), _ = ann.agent.store.of("ann").tasks.page(9, context="ann's")
    for task in (rpc["id"], early.id, "t"):
        for method, headers, params in METHODS:
            assert bob.code(method, params(task), **headers) == -32001, (method, task)
    for path in ("/tasks/{}", "/tasks/{}:subscribe", "/tasks/{}/pushNotificationConfigs"):
        assert bob.get(f"/a2a/rest{path.format(rpc['id'])}", **V1).status_code == 404
    assert bob.post({}, f"/a2a/rest/tasks/{rpc['id']}:cancel", **V1).status_code == 404
    assert bob.get("/a2a/rest/tasks", **V1).json()["tasks"] == []
    assert bob.rpc("ListTasks", {"contextId": "ann's"}, **V1)["result"]["tasks"] == []


def test_another_users_context_is_a_new_one(two: tuple[Place, Place]) -> None:
    """Nothing tells bob that ann has a context of this name."""
    ann, bob = two
    ann.early("tasks/send", id="t", sessionId="same", message=words("ann's secret"))
    (session,) = ann.agent.store.of("ann").sessions()
    for context in ("same", session.id):
        task = bob.rpc("SendMessage", {"message": {**MESSAGE, "contextId": context}}, **V1)["result"]["task"]
        assert task["contextId"] == context
        assert "secret" not in str(bob.upstream.requests[-1].body)
    mine = bob.early("tasks/send", id="t", sessionId="same", message=words("bob's own"))
    assert mine["status"]["state"] == "completed"
    assert len(ann.agent.store.of("ann").turns(session.id)) == 1
    assert ann.early("tasks/get", id="t", historyLength=5)["history"][0]["parts"][0]["text"] == "ann's secret"


def test_a_revoked_key_ends_at_once(two: tuple[Place, Place]) -> None:
    ann, _ = two
    ann.early("tasks/send", id="t", message=words("hi"))
    for key in ann.agent.store.api_keys.all():
        ann.agent.store.api_keys.revoke(key.id)
    assert ann.post({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}}).status_code == 401


def test_a_deleted_session_takes_its_tasks_along(two: tuple[Place, Place]) -> None:
    ann, _ = two
    ann.early("tasks/send", id="t", sessionId="s", message=words("hi"))
    (session,) = ann.agent.store.of("ann").sessions()
    ann.agent.of("ann").delete_session(session.id)
    assert ann.code("tasks/get", {"id": "t"}) == -32001
