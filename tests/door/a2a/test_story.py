"""A task that goes on with a story in one of the user's worlds."""

from __future__ import annotations

from tests.door.a2a.place import Json, Place, answer_in, slow, words
from tests.door.openai.story import told


def tell(opened: Place, name: str, context: str, text: str, world: str = "harbour") -> Json:
    return opened.early(
        "tasks/send", id=name, sessionId=context, message=words(text), metadata={"gieok": {"world": world}}
    )


def test_a_context_is_one_story(opened: Place) -> None:
    world = opened.agent.store.worlds.create("Harbour", "en")
    opened.upstream.add(told("The bar is dark.", 7, location="bar"), told("A lamp is lit.", 7, location="bar"))
    first = tell(opened, "a", "one", "I go into the bar.")
    assert (first["status"]["state"], answer_in(first)) == ("completed", "The bar is dark."), "without the state block"
    second = tell(opened, "b", "one", "I light the lamp.")
    assert answer_in(second) == "A lamp is lit."
    assert "The bar is dark." in str(opened.upstream.requests[-1].body["messages"])
    opened.upstream.add(told("The sea is calm.", 7, location="pier"))
    tell(opened, "c", "two", "I go to the pier.")
    assert "The bar is dark." not in str(opened.upstream.requests[-1].body["messages"]), (
        "another context, another story"
    )
    begun = opened.agent.store.worlds.children(world.id, 0)
    assert [node.question for node in begun] == ["I go into the bar.", "I go to the pier."]
    sessions = opened.agent.store.sessions()
    assert [session.turn_count for session in sessions] == [1, 2]
    assert {session.world for session in sessions} == {world.id}


def test_a_cancelled_turn_is_kept_and_the_story_goes_on_after_it(opened: Place) -> None:
    world = opened.agent.store.worlds.create("Harbour", "en")
    opened.upstream.add(slow(400))
    opened.upstream.always = told("A lamp is lit.", 7, location="bar")  # also to what asks for the missing state
    params = {"id": "a", "sessionId": "one", "message": words("I go in."), "metadata": {"gieok": {"world": "harbour"}}}
    events = opened.stream("tasks/sendSubscribe", params)
    while "artifact" not in next(events)["result"]:
        pass
    task = opened.early("tasks/cancel", id="a")
    assert task["status"]["state"] == "canceled"
    (node,) = opened.agent.store.worlds.children(world.id, 0)
    assert node.answer == answer_in(task)
    assert answer_in(tell(opened, "b", "one", "I light the lamp.")) == "A lamp is lit."
    assert node.answer.split()[0] in str(opened.upstream.requests[-1].body["messages"])


def test_another_users_world_is_unknown(opened: Place) -> None:
    opened.agent.store.of("ann").worlds.create("Harbour", "en")
    bob = opened.as_user(opened.agent.store.api_keys.add("two", "bob"))
    task = tell(bob, "a", "one", "I go into the bar.")
    assert task["status"]["state"] == "failed"
    assert task["metadata"]["gieok"]["code"] == "world_unknown"
    assert opened.upstream.requests == []


def test_a_deleted_world_takes_its_tasks_along(opened: Place) -> None:
    world = opened.agent.store.worlds.create("Harbour", "en")
    opened.upstream.add(told("The bar is dark.", 7, location="bar"))
    tell(opened, "a", "one", "I go into the bar.")
    opened.agent.store.worlds.delete(world.id)
    assert opened.code("tasks/get", {"id": "a"}) == -32001
