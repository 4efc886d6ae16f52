"""The commands ``salon bench`` and ``salon refine``: one file per group, each parses, makes one library call and prints."""
