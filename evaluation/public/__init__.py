"""Public data sets of long conversations with questions about them: LoCoMo, LongMemEval, the memory part of BFCL.

Shows ``measure``, ``figure`` and ``record`` to the terminal, ``compare``, ``stored`` and ``twenty`` to the benches.
May import ``evaluation.public.dataset``, the modules of ``evaluation``, ``evaluation.judge``, ``graph`` and below.

Nothing of their data comes with Gieok; the user names the files.
"""
