"""``salon reward score``: what every completion of a file earns.

completions_file   read_completions                        the columns of a JSON Lines file
scored             score_completions, ScoredCompletions    what each completion earned, component by component, and why
"""
