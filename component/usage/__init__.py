"""What conversations took and saved over time.

Shows ``usage_window.draw_usage``, and ``usage_sum`` with the sums that it draws.
May import ``component.page``, ``component.widget``, ``component.work``, ``store`` and ``model``.
"""
