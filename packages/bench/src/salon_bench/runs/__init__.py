"""Runs of suites: started, stopped, gone on with, read again. Nothing that was answered is lost or asked for twice.

    planned            prompts and pictures found, the run named                       plan.py
    execute            starts a run or goes on with it                                 start.py
    Runner             many cases at once                                              runner.py
    CaseRunner           one case: asks, asks again, answers the suite                   examination.py
    Checkpoint             replies on the disk before they count                           ledger.py
    Limits, Pace       how far, and how much at once                                   limits.py, runner.py
    Progress, Watcher  how far it is, for whoever watches                              progress.py, watching.py
    run_statuses          the runs of a store                                             standing.py
    rescore            reads stored replies again, asks nobody                         rescoring.py
    compare            two runs, paired by prompt                                      compare.py, comparison.py
    leaderboards       a suite's numbers for all finished runs                         leaderboard.py
    exported           rows for other programs                                         export.py
    judge_together     what several judges say together                                panel.py

The modules are imported by name, so that asking begins before the libraries that read tables are loaded.
"""

__all__: list[str] = []
