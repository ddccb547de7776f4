"""What a memory shows: to a prompt, to a search, to a model that names lines, and to the user.

Shows ``view.make_view``, ``listed.list_lines``, ``known``, ``proposal``, ``past`` and ``recollect`` to the reader.
May import ``memory.row``, ``memory.fold``, the plain data of ``memory``, ``store`` and ``text``.
"""
