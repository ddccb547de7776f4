"""The files of public data sets, and Gieok's own, as conversations that can be played and questions about them.

Shows ``source`` and ``own`` to the benches, ``dataset`` to the measurements.
May import ``evaluation.scenario``, ``bench.public.evidence``, ``bench.public.share`` and ``text``.
"""
