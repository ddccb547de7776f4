"""The input of the model: the prompt, its report, and the ways to look at it.

Shows ``prompt.build_turn_prompt``, ``report`` and ``turns`` to ``graph``; ``preview`` and ``compare`` to the page.
May import the other folders of ``graph``, ``memory``, ``retrieval``, ``store``, ``model`` and all below them.
"""
