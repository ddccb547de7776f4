"""The settings window: the model, how the page looks, how a conversation is answered, servers of tools.

Shows ``options.draw_options``, and ``own_setting`` and ``model_status`` to the other rooms.
May import ``component.page``, ``component.widget``, ``component.work``, ``host``, ``model`` and all below them.
"""
