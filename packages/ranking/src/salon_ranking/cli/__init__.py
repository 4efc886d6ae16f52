"""The commands of this package: ``salon rank``, ``raters``, ``mos``, ``weights``, ``test-points``, ``next-pairs``, ``plan``."""
