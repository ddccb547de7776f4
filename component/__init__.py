"""The page: Streamlit's widgets, one folder for each place of it, and what runs beside it in ``work``.

Shows functions that draw a place (``draw_…``, ``render_…``) to ``app``, which says what stands where.
May import ``evaluation``, ``graph`` and all below them, and no door. Only this folder and ``app`` import Streamlit.
"""
