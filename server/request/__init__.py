"""A request on its way to a turn: its JSON, whose words are in it, which conversation it goes on with, its running.

Shows ``json_body``, ``conversation.plan_client_turn`` and ``prepare_turn_request``, ``running.Requests`` to the doors.
May import the rest of ``server``, ``graph``, ``history`` and all below them.
"""
