"""A request that the arena refuses; what a database cannot write is :class:`salon_taxonomy.errors.StorageError`."""

from salon_taxonomy.errors import SalonError


class RefusedError(SalonError):
    """A request that cannot be granted; nothing was written.

    Args:
        status: the HTTP status: 401, 403, 404, 409, 410, 413, 415, 422, 429 or 503.
        code: one word for the page, such as ``settled``. Contains nothing about the pictures.

    Example:
        >>> str(RefusedError(409, "settled"))
        '409 settled'
    """

    def __init__(self, status: int, code: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"{status} {code}")
