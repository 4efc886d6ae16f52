"""The command ``salon`` (:data:`main`, in ``salon.py``), and the options and the output that all commands share."""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_console.commands import COMMANDS
    from salon_console.salon import SalonGroup, main

__all__ = ["COMMANDS", "SalonGroup", "main"]

__getattr__, __dir__ = lazy_names(globals(), {"commands": ["COMMANDS"], "salon": ["SalonGroup", "main"]})
