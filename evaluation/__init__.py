"""Is the memory any good? Scenarios, plays and probes without a model, and a judge (specification 13).

Shows ``run.run_evaluation``, ``play``, ``scenario``, ``probe``, ``look`` and ``curve`` to the page and the doors.
May import ``graph`` and all below it.
"""
