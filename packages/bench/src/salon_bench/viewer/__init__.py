"""``salon view``: a local, read-only page over a store: runs in progress, pictures with verdicts, boards.

    store_tables  rows of the store's tables and of the journals of running runs, kept until they change
    cases         cases of runs with their verdicts and labels; filters
    small_copies  pictures made small once, by content
    pages         HTML of each page
    app           routes, behind a token

Import from the modules.
"""
