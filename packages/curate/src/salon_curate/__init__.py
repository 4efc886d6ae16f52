"""Build image data sets with judges: stages over shards, selections, audits, releases.

Nothing is imported before it is asked for (PEP 562).
"""

__all__: list[str] = []
