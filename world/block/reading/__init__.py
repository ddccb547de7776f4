"""From an answer to the fields of its state block, in every form in which models write one, and without one.

Shows ``hidden.HiddenBlock`` to a turn, ``read.read_answer_blocks`` and ``light.extract_turn_fields`` to the extraction.
May import ``world.block.field``, ``world.story``, ``world.naming``, ``model``, ``prompt`` and ``text``.
"""
