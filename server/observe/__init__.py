"""What can be watched from outside: health, counters, traces, and exceptions that nobody took.

Shows ``watch.Watch`` around every request, ``health.Health``, ``metric.Metrics``, ``lost_exception.report_lost``.
May import the rest of ``server``, ``graph`` and all below it.
"""
