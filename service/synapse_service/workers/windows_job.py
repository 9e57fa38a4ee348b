"""Windows job objects: a worker in one ends with the service, because the system closes the service's handles.

Used by ``launch`` on Windows only. Reached through ctypes; the calls are those of the Win32 documentation for
CreateJobObjectW, SetInformationJobObject, AssignProcessToJobObject and TerminateJobObject.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

assert sys.platform == "win32"

_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMIT_INFORMATION = 9
_PROCESS_TERMINATE = 0x0001
_PROCESS_SET_QUOTA = 0x0100
_TERMINATED = 1


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_ulonglong * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def _kernel32() -> ctypes.WinDLL:
    library = ctypes.WinDLL("kernel32", use_last_error=True)
    library.CreateJobObjectW.restype = wintypes.HANDLE
    library.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
    library.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
    library.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    library.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    library.OpenProcess.restype = wintypes.HANDLE
    library.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    library.CloseHandle.argtypes = (wintypes.HANDLE,)
    return library


class WindowsJob:
    """A job that holds one worker and its descendants; a ProcessGroup."""

    def __init__(self, pid: int) -> None:
        """Creates the job and puts the process into it.

        Raises:
            OSError: Windows refused; the process is in no job.
        """
        self._kernel = _kernel32()
        self._job: int | None = self._kernel.CreateJobObjectW(None, None)
        if not self._job:
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            limits = _ExtendedLimits()
            limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
            self._require(
                self._kernel.SetInformationJobObject(
                    self._job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
                )
            )
            self._adopt(pid)
        except OSError:
            self.release()
            raise

    def terminate(self) -> None:
        """Windows has no request to end that a console-less process could receive, so this is `kill`."""
        self.kill()

    def kill(self) -> None:
        if self._job is not None:
            self._kernel.TerminateJobObject(self._job, _TERMINATED)

    def release(self) -> None:
        """Closes the job, which also ends whatever is still in it."""
        if self._job is not None:
            self._kernel.CloseHandle(self._job)
            self._job = None

    def _adopt(self, pid: int) -> None:
        process = self._kernel.OpenProcess(_PROCESS_TERMINATE | _PROCESS_SET_QUOTA, False, pid)
        self._require(process)
        try:
            self._require(self._kernel.AssignProcessToJobObject(self._job, process))
        finally:
            self._kernel.CloseHandle(process)

    @staticmethod
    def _require(result: int) -> None:
        if not result:
            raise ctypes.WinError(ctypes.get_last_error())
