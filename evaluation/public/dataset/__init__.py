"""The files of public data sets, and Gieok's own, as conversations that can be played and questions about them.

Shows ``source`` to the terminal, ``dataset`` to the measurements, ``own`` to the benches.
May import ``evaluation.scenario``, ``evaluation.public.evidence``, ``evaluation.public.share`` and ``text``.
"""
