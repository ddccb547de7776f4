"""What runs beside the page and what its tabs share: jobs, intakes, side calls, models in use; it draws nothing.

Shows ``job.Jobs``, ``intake.Intakes``, ``readiness.Readiness``, and ``resource`` with what belongs to a page's user.
May import ``graph``, ``retrieval``, ``world`` and all below them, and no other room of the page.
"""
