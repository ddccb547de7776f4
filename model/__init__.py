"""Chat models: hosted, local server, embedded llama.cpp; token counts; the scripted test model (design 9.2).

Shows ``modelset`` and ``profile`` to all, ``embedding`` to the searches, ``file_lock`` to whoever writes files.
May import ``text``, ``settings`` and ``private``.
"""
