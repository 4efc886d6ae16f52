"""Commands that look at what there is: suites, runs, and how far a run is."""
