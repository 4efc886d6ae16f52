"""``salon view``: a local, read-only page over a store: runs while they go on, their pictures with verdicts, boards.

    store_tables  rows of the store's tables and of the journals of runs that go on, kept until they change
    cases         the pictures of runs with what was said of them; filters
    small_copies  pictures made small once, by content
    pages         the pages' values
    app           routes, behind a token

Import from the modules.
"""
