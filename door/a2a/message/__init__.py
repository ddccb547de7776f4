"""What messages of the protocol look like, in both generations: how we make them, and what we read in them.

Shows ``form``, ``part`` and ``early_form`` to the rest of the door.
May import ``server``, ``graph.turn.request`` and all below them; it knows neither tasks nor the store of tasks.
"""
