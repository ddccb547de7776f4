"""Running one turn: from the user's message to the written answer.

Shows ``agent.Agent`` to the doors and the page, with ``request.Request`` and ``event``, what goes in and comes out.
May import all of ``graph``, and ``memory``, ``retrieval``, ``world``, ``host`` and all below them.
"""
