"""What the fields of a state block do to the state: one function for each field.

Shows ``person``, ``place`` and ``thing`` to ``world.block.check``; all of them change a ``draft.ChangesDraft``.
May import the modules of ``world.block``, ``world.naming``, ``world.story.state``, ``store`` and ``text``.
"""
