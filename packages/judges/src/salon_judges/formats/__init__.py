"""Files of the benchmarks, as their authors released them or in the same columns: prompts, rows, generations.

* :mod:`~salon_judges.formats.generations`: which file is whose picture for which prompt.
* :mod:`~salon_judges.formats.artifact_bench`, :mod:`~salon_judges.formats.artifact_bench_options`: rows, and the one rule that
  draws the wrong options of a question.
* :mod:`~salon_judges.formats.magicbench_prompts`, :mod:`~salon_judges.formats.magic_bench_377_prompts`,
  :mod:`~salon_judges.formats.r3_bench`, :mod:`~salon_judges.formats.prism_tracks`: prompts and items.
"""

__all__: list[str] = []
