"""The envelopes of stored files: kind, version and checksum.

A JSON file is one object; its body stays undecoded until the rest is known to be good::

    {"format": "predtrace job", "schema": 4, "sha256": "…", "body": …}

Binary files begin with two letters and a version; each kind decides where its checksums are.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import NamedTuple

import msgspec

from predtrace.errors import PredTraceError

CRC_BYTES = 4


class _File(msgspec.Struct):
    format: str
    schema: int
    sha256: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")


class Opened(NamedTuple):
    """The content of an envelope."""

    schema: int
    body: bytes


class JsonEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of JSON files: its `format`, its newest `schema`, and the words of its errors.

    `kind` names such a file, and `remedy` says what to do about a damaged file. Problems are raised
    as `error`.
    """

    format: str
    schema: int
    kind: str
    remedy: str
    error: type[PredTraceError]

    def seal(self, body: bytes, schema: int | None = None) -> bytes:
        """The bytes of a file with this body, of the newest schema unless another is named."""
        digest = hashlib.sha256(body).hexdigest()
        number = self.schema if schema is None else schema
        return msgspec.json.encode(_File(self.format, number, digest, msgspec.Raw(body)))

    def open(self, data: bytes, where: str) -> Opened:
        """The body, once checksum and schema are known to be good; `where` names the file.

        Raises `error` if the file is of another kind, truncated, changed, or of a newer schema.
        """
        try:
            file = msgspec.json.decode(data, type=_File)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise self.error(
                f"{where} is truncated or no {self.kind} ({error}); {self.remedy}"
            ) from error
        if file.format != self.format:
            raise self.error(f"{where} is no {self.kind} (format {file.format!r})")
        if file.schema > self.schema:
            raise self.error(
                f"{where} was written by a newer predtrace (schema {file.schema}; this version "
                f"reads up to {self.schema}): upgrade predtrace to read it"
            )
        if file.schema < 1:
            raise self.error(f"{where} names the schema {file.schema}, which never existed")
        body = bytes(file.body)
        if hashlib.sha256(body).hexdigest() != file.sha256:
            raise self.error(
                f"{where} was changed after it was written (its checksum does not fit); "
                f"{self.remedy}"
            )
        return Opened(file.schema, body)


class BinaryEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of binary files: its first letters, its version, and the words of its errors."""

    magic: bytes
    version: int
    kind: str
    remedy: str
    error: type[PredTraceError]

    @property
    def head(self) -> bytes:
        """The first bytes of a file of the present version."""
        return self.magic + bytes([self.version])

    def check_head(self, data: bytes | memoryview, where: str, at_least: int = 0) -> None:
        """Raise `error` unless a file of this kind begins here, with so many bytes after its
        head."""
        begin = bytes(data[: len(self.head)])
        if len(data) < len(self.head) + at_least or begin[: len(self.magic)] != self.magic:
            raise self.error(f"{where} is truncated or no {self.kind}; {self.remedy}")
        if begin[-1] > self.version:
            raise self.error(
                f"{where} was written by a newer predtrace (version {begin[-1]}; this one reads up "
                f"to {self.version}): upgrade predtrace to read it"
            )

    def check(self, content: bytes | memoryview, crc: int, where: str, start: int = 0) -> None:
        """Raise `error` unless the content has this CRC-32, continued from `start`."""
        if zlib.crc32(content, start) != crc:
            raise self.error(
                f"{where} is truncated or was changed after it was written (its checksum does not "
                f"fit); {self.remedy}"
            )
