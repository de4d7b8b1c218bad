"""What a decoder says."""


class DecodeError(ValueError):
    """A stream that is not restored: nothing of it is handed on."""

    __module__ = "sleek_decode"


class DamagedError(DecodeError):
    """Bytes that no encoder writes: damaged, cut off, or no stream at all."""

    __module__ = "sleek_decode"


class UnsupportedError(DecodeError):
    """A version, a codec or an extension that this package does not know."""

    __module__ = "sleek_decode"


def expect(holds: object, what: str) -> None:
    """Refuses a stream of which something does not hold."""
    if not holds:
        raise DamagedError(f"the SLEEK stream is damaged: {what}")
