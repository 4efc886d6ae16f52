"""Comparisons that prove claims of the documentation. Run them in the repository root: ``python -m studies.refiner FOLDER``."""
