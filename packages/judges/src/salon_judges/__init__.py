"""Models that look at pictures and videos: clients of judges, editors and generators, scorers, and the media they are shown.

Import from the modules, so that settings can be read without the HTTP client:

* :mod:`salon_judges.clients`: judges: servers, models on this machine, replies that were kept.
* :mod:`salon_judges.editors`, :mod:`salon_judges.generators`: models that change pictures, and that make them.
* :mod:`salon_judges.scorers`: models that give a picture a number.
* :mod:`salon_judges.media`: pictures and videos as judges are shown them.
"""

__all__: list[str] = []
