"""Public data sets of long conversations with questions about them: LoCoMo, LongMemEval, the memory part of BFCL.

Shows ``measure`` and ``figure`` to the bench ``dataset``; ``compare``, ``stored``, ``twenty`` to ``evidence``.
May import ``bench.public.dataset``, the modules of ``evaluation``, ``evaluation.judge``, ``graph`` and below.

Nothing of their data comes with Gieok; the user names the files.
"""
