"""The choice of the model, and the check whether it answers.

Shows ``resolve.resolve_models`` to page and doors, ``probe`` and ``model_offer`` to the settings of the page.
May import ``model``, ``model.call``, ``model.embedded``, ``text`` and ``settings``.
"""
