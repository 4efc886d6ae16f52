"""People compare pictures or videos in a browser; every answer is kept once and reaches the result store.

    material = read_material(Path("pictures"), Path("prompts.jsonl"))
    with ArenaDatabase.open(Path("arena.db")) as database:
        application = create_app(vote_service(database, material))   # an ASGI application
        export_answers(database, Path("results"))                   # settled answers → battles of a result store

``salon arena serve`` does the first, ``salon arena export`` the second. Rules of the four answers: MEF, section 5.1.1.
Flow, guarantees and limits: ``docs/arena.md``.

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_arena.app import create_app
    from salon_arena.database import ArenaDatabase
    from salon_arena.demo import draw_demo
    from salon_arena.errors import RefusedError
    from salon_arena.export import export_answers
    from salon_arena.material import Material, read_known_pairs, read_material
    from salon_arena.service import WorkService, vote_service

__all__ = [
    "ArenaDatabase",
    "Material",
    "RefusedError",
    "WorkService",
    "create_app",
    "draw_demo",
    "export_answers",
    "read_known_pairs",
    "read_material",
    "vote_service",
]

_BY_MODULE = {
    "app": ("create_app",),
    "database": ("ArenaDatabase",),
    "demo": ("draw_demo",),
    "errors": ("RefusedError",),
    "export": ("export_answers",),
    "material": ("Material", "read_known_pairs", "read_material"),
    "service": ("WorkService", "vote_service"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
