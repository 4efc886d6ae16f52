"""Charts and pages of leaderboards. Needs the extra ``salon-ranking[report]`` (Altair, Jinja2, vl-convert).

``numbers`` writes numbers for people, ``charts`` makes Vega-Lite specifications, ``page`` lays out a self-contained
HTML page, ``leaderboard`` composes the page of one or more leaderboards. Import from those modules.
"""
