"""Pages about benchmarks; the blocks come from ``salon_ranking.report``. Import from the modules.

    run_page         ``salon results report``: numbers of runs and a gallery of what was judged
    comparison_page  ``salon results compare``: differences and the biggest changes
    board_page       ``salon results leaderboard``

``gathering`` reads the store, ``thumbnails`` makes small pictures, ``gallery`` writes them down.
"""
