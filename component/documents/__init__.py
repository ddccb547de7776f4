"""The page of the documents: the list, and adding files and pages.

Shows ``documents_page.draw_documents``, and ``adding`` to the field for a message.
May import ``component.page``, ``component.widget``, ``component.work``, ``retrieval`` and all below them.
"""
