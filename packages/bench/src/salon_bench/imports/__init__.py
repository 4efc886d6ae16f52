"""Results of other tools as runs of a store: logs of inspect_ai, sample files of lmms-eval, reviews of evalscope."""
