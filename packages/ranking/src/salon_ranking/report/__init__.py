"""The pages of leaderboards, opinion scores, plans and raters. Needs the extra ``salon-ranking[report]`` (Jinja2, resvg).

``leaderboard`` composes the page of one or more leaderboards, ``sections`` what is below each; the other modules are one page
each. Import from those modules. Charts and the layout of a page are in ``salon_console``.
"""
