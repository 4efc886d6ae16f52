"""Ask a judge, in one way for runs, curation, rewards and training.

* :mod:`~salon_judges.asking.inquiry`: a question with the parser of its answer.
* :mod:`~salon_judges.asking.asker`: from an inquiry to a verdict, with the replies that are kept.
* :mod:`~salon_judges.asking.spending`: how many calls, tokens, dollars and seconds may be spent.
* :mod:`~salon_judges.asking.templates`: the words of questions; what strangers wrote can never become instructions.
"""

__all__: list[str] = []
