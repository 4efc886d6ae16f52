"""A form that was posted as ``multipart/form-data``: its fields, as bytes."""

import re

_NAME = re.compile(rb'content-disposition:[^\r\n]*?[; ]name="([^"\r\n]*)"', re.IGNORECASE)


def read_form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Field name to content; of a field that stands twice, the last. Empty for a body that is no form.

    Example:
        >>> body = b'--x\\r\\nContent-Disposition: form-data; name="prompt"\\r\\n\\r\\nAdd a star.\\r\\n--x--\\r\\n'
        >>> read_form("multipart/form-data; boundary=x", body)
        {'prompt': b'Add a star.'}
    """
    boundary = content_type.partition("boundary=")[2].strip().strip('"')
    if not boundary:
        return {}
    fields: dict[str, bytes] = {}
    for part in body.split(b"--" + boundary.encode("latin-1", "replace"))[1:]:
        head, gap, content = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if gap and name:
            fields[name[1].decode("utf-8", "replace")] = content.removesuffix(b"\r\n")
    return fields
