"""Figures for people, as their locale writes them: sizes, rates, shares, durations, times.

Every result is isolated (see :mod:`synapse_app.i18n`), so that "4.6 GB" doesn't become "GB 4.6" among Arabic words.
"""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QLocale

from synapse_app.i18n import isolated, tr


def count(value: int) -> str:
    """A whole number."""
    return isolated(QLocale().toString(value))


def size(value: int) -> str:
    """Bytes, in decimal units as disks are sold."""
    return isolated(QLocale().formattedDataSize(value, 1, QLocale.DataSizeFormat.DataSizeSIFormat))


def rate(bytes_per_s: float) -> str:
    """Bytes a second."""
    return tr("{size}/s", size=size(round(bytes_per_s)))


def share(done: float, total: float) -> str:
    """``done`` of ``total`` in percent, rounded down: only what is complete shows 100."""
    return percent(0 if total <= 0 else min(100, int(100 * done / total)))


def percent(value: int) -> str:
    """A share that is known in percent."""
    locale = QLocale()
    return isolated(f"{locale.toString(value)}\u00a0{locale.percent()}")


def duration(ms: float) -> str:
    """A length of time in its two largest units."""
    seconds = max(0, round(ms / 1000))
    if seconds < 60:
        return tr("{n} s", n=seconds)
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return tr("{minutes} min {seconds} s", minutes=count(minutes), seconds=count(seconds))
    hours, minutes = divmod(minutes, 60)
    return tr("{hours} h {minutes} min", hours=count(hours), minutes=count(minutes))


def clock_time(time_ms: int) -> str:
    """A moment of today, with seconds."""
    moment = QDateTime.fromMSecsSinceEpoch(time_ms)
    return isolated(QLocale().toString(moment.time(), "HH:mm:ss"))


def date_time(time_ms: int) -> str:
    """A moment, with its day."""
    moment = QDateTime.fromMSecsSinceEpoch(time_ms)
    return isolated(QLocale().toString(moment, QLocale.FormatType.ShortFormat))


def milliseconds(ms: float) -> str:
    """A short length of time."""
    if ms >= 10_000:
        return duration(ms)
    return tr("{value} ms", value=isolated(QLocale().toString(ms, "f", 1 if ms < 10 else 0)))


def moment(time_ms: int, now_ms: int) -> str:
    """A moment: with its day, unless that is the day of ``now_ms``."""
    then, now = QDateTime.fromMSecsSinceEpoch(time_ms), QDateTime.fromMSecsSinceEpoch(now_ms)
    if then.date() == now.date():
        return isolated(QLocale().toString(then.time(), QLocale.FormatType.ShortFormat))
    return date_time(time_ms)


def decimal(value: float) -> str:
    """A number of no unit, as short as it can be said."""
    if isinstance(value, int):
        return count(value)
    return isolated(QLocale().toString(value, "g", 6))
