"""The frame of the page: its view state, header, windows, help, colours, scripts of the browser, words in ``text``.

Shows ``view.View`` and ``catalogue.Words`` to every room, ``window`` to those that open one, ``follow`` to ``app``.
May import the other rooms of the page, because it draws their windows, and all below ``component``.
"""
