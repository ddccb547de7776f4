"""Public data sets of long conversations with questions about them: LoCoMo, LongMemEval, the memory part of BFCL.

Nothing of their data comes with Gieok; the user names the files.
"""
