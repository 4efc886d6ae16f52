"""A training run looked at: ``salon train report``, from ``log.jsonl`` and ``completions.jsonl`` alone, without torch.

    folders      which stages a run folder holds          ──► Run, StageRun
    history      one stage's log as curves, alarms, and how it ended
    settings     what a stage was told that others are not
    samples      completions of the first, a middle and the last step
    curve_table  the curves of each chart, and their titles
    page         all of it as one HTML page; ``summary`` as JSON

Import from the modules. The page needs ``salon-ranking[report]`` (``uv pip install './packages/train[report]'``).
"""
