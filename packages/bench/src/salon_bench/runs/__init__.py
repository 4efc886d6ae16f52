"""Runs of suites: start, stop, resume, read again. No stored reply is lost or asked for twice.

    plan.py           RunPlan, planned: prompts and pictures found, the run named
    session.py        RunSession: lock, row, events, limits and progress of one start
    suite_runner.py   execute: many cases at once
    case_runner.py    CaseRunner: one case, from its first question to its rows
    checkpoint.py     Checkpoint: replies on disk before they count
    edit_runner.py    EditRunner: pictures changed by an editor
    status.py         the runs of a store, and their states
    view.py           RunView: scores, labels, calls, prompts and numbers of a run
    rescore.py        stored replies read again with the suite as it is now

Import from the modules, so that asking starts before the libraries that read tables are loaded.
"""

__all__: list[str] = []
