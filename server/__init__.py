"""What all doors share: who may use them, what is refused, how errors and questions are worded, streams of events.

Shows ``access.Access``, ``refusal.Refusal``, the codes of errors in ``status.TABLE``, the words in ``phrase``.
May import ``graph`` and all below it. It knows no door; each door imports it, and so do ``cli`` and ``app``.
"""
