"""Label trees, answer grammars, records and verdicts: the words that every other Salon package speaks.

    Taxonomy, Label            label trees: ``Taxonomy.load("magicmirror")``, ``Taxonomy.read("mine.toml")``
    Crosswalk                  which labels of one tree correspond to which of another
    answer_schema, export      JSON Schema for structured decoding; Markdown, Label Studio, JSON
    Scored, Unscored, tally    a verdict that was had, one that was not, and how many of each
    digest, file_sha256        keys that are the same on every machine
    SalonError and below       everything that Salon raises on purpose

In modules of their own: ``salon_taxonomy.answers`` reads what a judge replied, ``salon_taxonomy.records`` has one row of
every result table, ``salon_taxonomy.protocols`` says what a judge and an editor are, ``salon_taxonomy.testing`` generates
test data, ``salon_console`` is the ``salon`` command.


Nothing is imported before it is asked for (PEP 562), so that a package which wants the errors alone does not wait for the
models of the trees.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.digest import digest, file_sha256  # at once: later the module of this name would hide the function
from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_taxonomy.crosswalk import Crosswalk, Link, LinkKind, Unmatched
    from salon_taxonomy.errors import (
        AmbiguousLabelError,
        Fault,
        IncompleteError,
        InputError,
        SalonError,
        StorageError,
        TaxonomyError,
        UnknownLabelError,
    )
    from salon_taxonomy.exports import Format, export
    from salon_taxonomy.label import Deduction, Grammar, Label, Source
    from salon_taxonomy.schema import answer_schema
    from salon_taxonomy.taxonomy import Taxonomy
    from salon_taxonomy.taxonomy_file import check_taxonomy
    from salon_taxonomy.verdict import Reason, Scored, Tally, Unscored, Verdict, tally

__all__ = [
    "AmbiguousLabelError",
    "Crosswalk",
    "Deduction",
    "Fault",
    "Format",
    "Grammar",
    "IncompleteError",
    "InputError",
    "Label",
    "Link",
    "LinkKind",
    "Reason",
    "SalonError",
    "Scored",
    "Source",
    "StorageError",
    "Tally",
    "Taxonomy",
    "TaxonomyError",
    "UnknownLabelError",
    "Unmatched",
    "Unscored",
    "Verdict",
    "answer_schema",
    "check_taxonomy",
    "digest",
    "export",
    "file_sha256",
    "tally",
]

_BY_MODULE = {
    "crosswalk": (
        "Crosswalk",
        "Link",
        "LinkKind",
        "Unmatched",
    ),
    "errors": (
        "AmbiguousLabelError",
        "Fault",
        "IncompleteError",
        "InputError",
        "SalonError",
        "StorageError",
        "TaxonomyError",
        "UnknownLabelError",
    ),
    "exports": (
        "Format",
        "export",
    ),
    "label": (
        "Deduction",
        "Grammar",
        "Label",
        "Source",
    ),
    "schema": ("answer_schema",),
    "taxonomy": ("Taxonomy",),
    "taxonomy_file": ("check_taxonomy",),
    "verdict": (
        "Reason",
        "Scored",
        "Tally",
        "Unscored",
        "Verdict",
        "tally",
    ),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
