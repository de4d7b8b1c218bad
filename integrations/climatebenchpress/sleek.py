"""Sleek for ClimateBenchPress: a file for its folder src/climatebenchpress/compressor/compressors. A class for each profile."""

__all__ = ["Sleek", "SleekSmall"]

from sleek.numcodecs import Sleek as Codec

from .abc import Compressor


class Sleek(Compressor):
    name = "sleek"
    description = "Sleek"

    @staticmethod
    def abs_bound_codec(dtype, error_bound):
        return Codec(abs=error_bound)

    @staticmethod
    def rel_bound_codec(dtype, error_bound):
        return Codec(rel=error_bound)


class SleekSmall(Compressor):
    name = "sleek-small"
    description = "Sleek, smallest files"

    @staticmethod
    def abs_bound_codec(dtype, error_bound):
        return Codec(abs=error_bound, profile="small")

    @staticmethod
    def rel_bound_codec(dtype, error_bound):
        return Codec(rel=error_bound, profile="small")
