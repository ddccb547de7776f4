"""What becomes of a task is told to the other's address, through failures and a restart, never to a private one."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest

from door.a2a.push import TRIES
from retrieval.read.address import Guard, is_public_machine
from store.task.push import UndeliveredPush
from tests.door.a2a.place import Json, Place, message03, place, words
from tests.door.a2a.receiver import Receiver, receiver
from tests.door.openai.running import CALM, served
from tests.stub.upstream import Upstream
from tests.wait import until

V1 = {"a2a-version": "1.0"}
HOSTILE = [
    "http://127.0.0.1:9/hook",
    "http://localhost:9/hook",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "http://no.such.host.invalid/",
    "http://user:pass@127.0.0.1/",
    "nonsense",
]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as opened:
        yield opened


@pytest.fixture
def telling(tmp_path: Path, upstream: Upstream) -> Iterator[Place]:
    with place(tmp_path, upstream, push_loopback=True) as service:
        service.service.doors.agents.sender.pauses = (0.01, 0.02)
        yield service


def send1(opened: Place, hook: Receiver, **config: Any) -> Json:
    push = {"url": hook.url, "token": "secret-token", **config}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "안녕"}]}
    params = {"message": message, "configuration": {"taskPushNotificationConfig": push}}
    task: Json = opened.rpc("SendMessage", params, **V1)["result"]["task"]
    return task


def test_version_1_hears_every_change_with_its_token(telling: Place, hook: Receiver) -> None:
    login = {"scheme": "Bearer", "credentials": "theirs"}
    task = send1(telling, hook, authentication=login)
    heard = [hook.next() for _ in range(4)]
    assert [next(iter(body)) for _, body in heard] == [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    headers = heard[0][0]
    assert (headers["x-a2a-notification-token"], headers["authorization"]) == ("secret-token", "Bearer theirs")
    assert (headers["path"], headers["host"]) == ("/hook?for=me", hook.url.split("/")[2])
    whole = heard[2][1]["artifactUpdate"]
    assert whole["artifact"]["parts"] == [{"text": task["artifacts"][0]["parts"][0]["text"]}], "whole, not in pieces"
    assert heard[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_receiver_that_fails_twice_hears_all_in_order(telling: Place, hook: Receiver) -> None:
    hook.statuses.extend([500, 503])
    send1(telling, hook)
    heard = [next(iter(hook.next()[1])) for _ in range(4)]
    assert heard == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert hook.tries == 6
    assert_told(telling)


def test_after_three_tries_a_message_is_given_up_and_the_next_one_goes_on(telling: Place, hook: Receiver) -> None:
    hook.statuses.extend([500] * TRIES)
    send1(telling, hook)
    assert next(iter(hook.next()[1])) == "statusUpdate", "the first message never came"
    for _ in range(2):
        hook.next()
    assert_told(telling)


def test_a_fault_with_one_message_holds_up_none_after_it(
    telling: Place, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = telling.service.doors.agents.sender
    tell, faults = sender._try_delivery, [ValueError("a fault of ours")]

    async def fail_once(message: UndeliveredPush) -> None:
        if faults:
            raise faults.pop()
        await tell(message)

    monkeypatch.setattr(sender, "_try_delivery", fail_once)
    send1(telling, hook)
    assert [next(iter(hook.next()[1])) for _ in range(3)] == ["statusUpdate", "artifactUpdate", "statusUpdate"]
    until(lambda: not sender._queues)


def test_a_redirect_is_not_followed(telling: Place, hook: Receiver) -> None:
    hook.statuses.extend([302, 307])
    send1(telling, hook)
    assert hook.next()[0]["path"] == "/hook?for=me"


def assert_told(opened: Place) -> None:
    """Nothing is left: the last message is dropped a moment after it was heard."""
    while opened.agent.store.pushes.waiting():
        pass


def test_the_older_versions_hear_the_task_in_their_form(telling: Place, hook: Receiver) -> None:
    task = telling.early("tasks/send", id="t", message=words("hi"), pushNotification={"url": hook.url, "token": "one"})
    heard = [hook.next() for _ in range(4)]
    assert heard[-1][1] == {**task, "metadata": heard[-1][1]["metadata"]}
    assert heard[-1][0]["x-a2a-notification-token"] == "one"
    got = telling.early("tasks/pushNotification/get", id="t")
    assert got == {"id": "t", "pushNotificationConfig": {"url": hook.url, "token": "one"}}
    config = {"pushNotificationConfig": {"url": hook.url}}
    telling.rpc("message/send", {"message": message03("hi"), "configuration": config})
    assert [hook.next() for _ in range(4)][-1][1]["kind"] == "task"


def literal(host: str, port: int) -> list[str]:
    """The address that a host's name is, without asking anybody."""
    if host == "localhost":
        return ["127.0.0.1"]
    return [str(ip_address(host))]


@pytest.mark.parametrize("url", HOSTILE)
def test_private_addresses_are_refused(opened: Place, url: str) -> None:
    opened.service.doors.agents.sender.guard = Guard(is_public_machine, literal)
    opened.early("tasks/send", id="t", message=words("hi"))
    push = {"pushNotificationConfig": {"url": url}}
    assert opened.code("tasks/pushNotification/set", {"id": "t", **push}) == -32602
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    params = {"message": message, "configuration": {"taskPushNotificationConfig": {"url": url}}}
    assert opened.code("SendMessage", params, **V1) == -32602
    assert opened.code("message/send", {"message": message03("hi"), "configuration": push}) == -32602


def test_a_name_that_changes_its_address_is_refused_when_it_is_told(telling: Place, hook: Receiver) -> None:
    """First the name leads to a public machine, then to this one (DNS rebinding)."""
    answers = iter([["93.184.216.34"]])
    sender = telling.service.doors.agents.sender
    sender.guard = Guard(is_public_machine, lambda host, port: next(answers, ["127.0.0.1"]))
    url = hook.url.replace("127.0.0.1", "innocent.example")
    telling.early("tasks/send", id="t", message=words("hi"), pushNotification={"url": url})
    assert_told(telling)
    assert hook.tries == 0


def test_what_was_not_told_outlives_a_killed_process(tmp_path: Path, upstream: Upstream) -> None:
    variables = {**CALM, "GIEOK_PUSH_LOOPBACK": "true"}
    with receiver() as hook:
        hook.statuses.extend([500] * 50)  # however late the process is killed
        with served(tmp_path, upstream.url, **variables) as server:
            params = {"id": "t", "message": words("hi"), "pushNotification": {"url": hook.url}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params}
            assert httpx2.post(server.url.replace("/v1", "/a2a"), json=body, timeout=60).status_code == 200
            while hook.tries == 0:
                pass
            server.kill()
        assert hook.heard.empty()
        hook.statuses.clear()
        with served(tmp_path, upstream.url, **variables):
            heard = [hook.next()[1] for _ in range(4)]
    assert [body["status"]["state"] for body in heard] == ["submitted", "working", "working", "completed"]
