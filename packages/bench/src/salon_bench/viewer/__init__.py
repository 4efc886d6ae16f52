"""``salon view``: local, read-only pages over a store, a data set of ``salon curate`` or a training run.

    store_tables  rows of the store's tables and of the journals of running runs, kept until they change
    cases         cases of runs with their verdicts and labels; filters; where people and judges differ
    battles       battles as rows with both pictures
    small_copies  pictures made small once, by content
    rendering     HTML that pages share
    pages         pages of a store: runs, cases, a picture, boards
    row_pages     pages of rows: battles, and what packages show of other folders (entry points ``salon.views``)
    app           routes, behind a token

Import from the modules.
"""
