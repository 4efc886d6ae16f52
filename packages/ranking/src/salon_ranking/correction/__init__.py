"""A judge's many verdicts, corrected by a few votes of people. Formulas and coverage: ``docs/correction.md``."""
