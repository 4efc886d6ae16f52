"""Pages about benchmarks, laid out by ``salon_console.page``. Import from the modules.

    run_page         ``salon results report``: numbers of runs and a gallery of what was judged
    comparison_page  ``salon results compare``: differences and the biggest changes
    board_page       ``salon results leaderboard``
    trace_page       ``salon refine``: the rounds of a refinement

``gathering`` reads the store, ``thumbnails`` makes small pictures, ``gallery`` makes HTML of both.
"""
