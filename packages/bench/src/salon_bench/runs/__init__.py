"""Runs of suites: start, stop, resume, read again. No stored reply is lost or asked for twice.

    plan.py           RunPlan, planned: prompts and pictures found, the run named
    pictures.py       the pictures of a case: opened, checked, resized
    session.py        RunSession: lock, row, events, limits and progress of one start
    progress.py       the counts of a run, and who watches them
    suite_runner.py   execute: many cases at once; CaseRunner: one, from its first question (salon_judges.asking) to its rows
    checkpoint.py     RunCheckpoint: replies on disk before they count
    edit_runner.py    EditRunner: pictures changed by an editor
    open_questions.py questions without a reply, written into batch files
    status.py         the runs of a store, and their states
    view.py           RunView: scores, labels, calls, prompts and numbers of a run
    score_rows.py     scores and marks as frames
    rescore.py        stored replies read again with the suite as it is now
    picture_job.py    the resumable job of ``salon bench generate``

Import from the modules, so that asking starts before the libraries that read tables are loaded.
"""

__all__: list[str] = []
